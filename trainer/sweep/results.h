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

// What a finished run says of itself in result.json.
struct CellResult {
  std::map<std::string, double> scores;  // "test/top1", "test/loss"
  double epochs = 0;
  double seconds = 0;  // of training, over all its parts
  int64_t parameters = 0;
};

// The result of the run in a work folder; nothing where it has not finished. FAILED_PRECONDITION for a file that is not
// what a run writes; the sentence names it.
absl::StatusOr<std::optional<CellResult>> ReadResult(const std::filesystem::path& work);

// The score that a sweep is about. INVALID_ARGUMENT lists what there is instead.
absl::StatusOr<double> ScoreOf(const CellResult& result, const std::string& metric);

// A run of a sweep that has finished.
struct SeedScore {
  uint64_t seed = 0;
  double score = 0;
  double seconds = 0;
};

// What the finished runs of one point say together.
struct PointSummary {
  std::vector<SeedScore> seeds;  // in the grid's order
  double mean = 0;
  double deviation = 0;  // of the sample (divided by one less than the runs); 0 where there is one run alone
  double lowest = 0;
  double highest = 0;
  double seconds = 0;      // mean time of a run
  int64_t parameters = 0;  // of the model
  size_t missing = 0;      // runs of the grid without a result
  // The best mean among complete points, and better than each of them by more than chance (Welch's test at 5 %, three
  // runs or more each).
  bool best = false;
};

// `results` has one entry per cell of the grid. One summary per point, in their order. INVALID_ARGUMENT as ScoreOf.
absl::StatusOr<std::vector<PointSummary>> Summarise(const SweepGrid& grid,
                                                    const std::vector<std::optional<CellResult>>& results);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_RESULTS_H_
