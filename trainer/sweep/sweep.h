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
#include "trainer/sweep/grid.h"
#include "trainer/sweep/results.h"

namespace vitrine {

struct SweepOptions {
  std::filesystem::path program;   // vitrine-train
  std::filesystem::path work;      // holds cells/<name>/ with each run's state, log.txt and result.json
  std::string data;                // --data of every run; may be empty
  std::vector<std::string> flags;  // further flags of every run
  int jobs = 1;                    // runs at a time
  int threads = 1;                 // of each run
  // Where it says how it goes: a line that is redrawn on a terminal, and one line per run that ends.
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
  bool stopped = false;  // by `stop`, before every run had its turn
  size_t kept = 0;       // results that were there before
};

// Runs every cell that has no result yet, each as `program run RECIPE --resume ...` in a process of its own, so that
// neither a crash of one nor of this process costs more than the step in hand. A failed run does not keep the others
// from running.
//
// FAILED_PRECONDITION: a cell's folder is that of another experiment, or another sweep works in the folder and does not
// end. INVALID_ARGUMENT, once the first run has finished: the runs have no such score. UNAVAILABLE: the system's
// errors.
absl::StatusOr<SweepOutcome> RunSweepGrid(const SweepGrid& grid, const SweepOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_SWEEP_H_
