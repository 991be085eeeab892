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
  std::filesystem::path program;   // vitrine-train
  std::filesystem::path work;      // has a folder cells/NAME for each run, with its state, log.txt and result.json
  std::string data;                // --data for every run; may be empty
  std::string data_digest;         // RunDataDigest of `data`
  std::vector<std::string> flags;  // further flags for every run
  std::string program_digest;      // ProgramDigest() of `program`
  Shard shard = {};                // runs that this sweep starts; of other runs, it only reads the results
  int jobs = 1;                    // parallel runs
  int threads = 1;                 // threads per run
  // Gets a line per finished run and a progress line, which a terminal redraws; elsewhere, it is printed every minute.
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
  size_t kept = 0;       // number of results that were in the folder before
};

// Returns true if the shard runs this cell, an index in the grid's cells.
bool IsOfShard(size_t cell, const Shard& shard);

// Returns the command line of a cell's run. The command continues the run in the cell's folder. If the run has
// finished, the command only reports, and publishes if --publish is added.
std::vector<std::string> CommandOf(const SweepGrid& grid, const SweepOptions& options, const SweepCell& cell);

// Runs every cell of the shard that has no result yet. Each run is a process, `program run RECIPE --resume ...`, so
// that a crash of a run or of this process costs at most the steps since the last saved state. A failed run does not
// stop the others.
//
// FAILED_PRECONDITION: a cell's folder belongs to another experiment, or was made with other data, flags, program or
// threads; the program was replaced during the sweep; or another sweep is running in the folder.
// INVALID_ARGUMENT, after the first finished run: the runs have no score with the name of the sweep's metric.
// UNAVAILABLE: system errors.
absl::StatusOr<SweepOutcome> RunSweepGrid(const SweepGrid& grid, const SweepOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_SWEEP_H_
