// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_RESULTS_H_
#define VITRINE_TRAINER_SWEEP_RESULTS_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/sweep/grid.h"

namespace vitrine {

// Content of a finished run's result.json.
struct CellResult {
  std::map<std::string, double> scores;  // "test/top1", "test/loss"
  std::string program = {};              // ProgramDigest() of the program that did the run
  double epochs = 0;
  double seconds = 0;  // training time, including the time before interruptions
  int64_t parameters = 0;
};

// Reads the result of the run in a work folder; nullopt if it has not finished. FAILED_PRECONDITION names a file that
// is not a run's result.
absl::StatusOr<std::optional<CellResult>> ReadResult(const std::filesystem::path& work);

// Returns the score named `metric`. INVALID_ARGUMENT lists the existing scores.
absl::StatusOr<double> ScoreOf(const CellResult& result, const std::string& metric);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_RESULTS_H_
