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
  std::string program = {};              // ProgramDigest() of the program that ran it
  double epochs = 0;
  double seconds = 0;  // training time, summed over all interruptions
  int64_t parameters = 0;
};

// Reads the result of the run in a work folder; nullopt if it has not finished. FAILED_PRECONDITION names a file that
// is not a run's result.
absl::StatusOr<std::optional<CellResult>> ReadResult(const std::filesystem::path& work);

// Returns the score named `metric`. INVALID_ARGUMENT lists the existing scores.
absl::StatusOr<double> ScoreOf(const CellResult& result, const std::string& metric);

// Score of a finished run.
struct SeedScore {
  uint64_t seed = 0;
  double score = 0;
  double seconds = 0;
};

// Summary of the finished runs of one point.
struct PointSummary {
  std::vector<SeedScore> seeds;  // in the grid's order
  double mean = 0;
  double deviation = 0;  // sample deviation (n - 1); 0 for a single run
  double lowest = 0;
  double highest = 0;
  double seconds = 0;      // mean time of a run
  int64_t parameters = 0;  // parameters of the model
  size_t missing = 0;      // runs of the grid without a result
  // true: this point has the best mean, and TestPaired shows, from runs that share a seed, that all other complete
  // points are worse. Incomplete points do not count.
  bool best = false;
};

// `results` has one entry per cell of the grid. Returns one summary per point, in order. INVALID_ARGUMENT as ScoreOf.
absl::StatusOr<std::vector<PointSummary>> Summarise(const SweepGrid& grid,
                                                    const std::vector<std::optional<CellResult>>& results);

// Returns the index of the complete point with the best mean, the first of equal ones; nullopt if none is complete.
std::optional<size_t> BestPoint(const SweepGrid& grid, const std::vector<PointSummary>& points);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_RESULTS_H_
