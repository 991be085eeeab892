// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_SWEEP_H_
#define VITRINE_TRAINER_SWEEP_SWEEP_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/shard.h"
#include "trainer/sweep/grid.h"
#include "trainer/sweep/results.h"

namespace vitrine {

struct SweepOptions {
  std::filesystem::path program;   // path of vitrine-train
  std::filesystem::path work;      // folder with a folder cells/NAME for each run: its state, log.txt and result.json
  std::string data;                // value of --data for every run; may be empty
  std::string data_digest;         // RunDataDigest of `data`
  std::vector<std::string> flags;  // further flags for every run
  std::string program_digest;      // ProgramDigest() of `program`
  Shard shard = {};                // runs that this sweep starts; for all other runs, it only reads results
  int jobs = 1;                    // parallel runs
  int threads = 1;                 // threads per run
  // Stream for a line per finished run and a progress line. On a terminal, the progress line is redrawn; otherwise, it
  // is printed every minute.
  std::ostream* log = nullptr;
  bool is_terminal = false;
  std::function<int()> stop;  // see JobOptions
};

// A run that ended without a result.
struct SweepFailure {
  std::string cell;
  std::string reason;  // "exit code 1: <last line of its log>"
  std::filesystem::path log;
};

struct SweepOutcome {
  std::vector<std::optional<CellResult>> results;  // one per cell
  std::vector<SweepFailure> failures;
  bool stopped = false;  // true: `stop` returned a signal, so runs may lack a result
  size_t kept = 0;       // number of results that existed before this sweep
};

// Returns true if the shard runs this cell. `cell` is an index in the grid's cells.
bool IsOfShard(size_t cell, const Shard& shard);

// Returns the command line of a cell's run. The command continues the run in the cell's folder. If the run has
// finished, the command only reports, and publishes if --publish is added.
std::vector<std::string> CommandOf(const SweepGrid& grid, const SweepOptions& options, const SweepCell& cell);

// Runs every cell of the shard that has no result yet. Each run is a process, `program run RECIPE --resume ...`, so
// that a crash of a run or of this process costs at most the steps since the last saved state. If a run fails, the
// other runs continue.
//
// FAILED_PRECONDITION: a cell's folder has a run with another recipe or with other data, flags, program or threads; the
// program was replaced during the sweep; or another sweep is running in the folder. INVALID_ARGUMENT: the runs have no
// score with the name of the sweep's metric; this error is detected with the first result. UNAVAILABLE: system errors.
absl::StatusOr<SweepOutcome> RunSweepGrid(const SweepGrid& grid, const SweepOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_SWEEP_H_
