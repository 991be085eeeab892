// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_SUMMARY_H_
#define VITRINE_TRAINER_SWEEP_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/sweep/grid.h"
#include "trainer/sweep/results.h"

namespace vitrine {

// Score of a finished run.
struct SeedScore {
  uint64_t seed = 0;
  double score = 0;
  double seconds = 0;
};

// Summary of the finished runs of one point.
struct PointSummary {
  std::vector<SeedScore> seeds;  // in the order of the grid's seeds
  double mean = 0;
  double deviation = 0;  // sample standard deviation (n - 1); 0 for a single run
  double lowest = 0;
  double highest = 0;
  double seconds = 0;      // mean time of a run
  int64_t parameters = 0;  // number of the model's parameters
  size_t missing = 0;      // number of this point's runs without a result
  // True if this point has the best mean, and TestPaired shows that all other points are worse. TestPaired compares
  // runs with the same seed. Only complete points, which have results of all runs, are compared.
  bool best = false;
};

// Returns one summary per point, in order. `results` has one entry per cell of the grid. Returns the errors of ScoreOf.
absl::StatusOr<std::vector<PointSummary>> Summarise(const SweepGrid& grid,
                                                    const std::vector<std::optional<CellResult>>& results);

// Returns the index of the complete point with the best mean. If several points have the best mean, returns the lowest
// index. nullopt: no point is complete.
std::optional<size_t> BestPoint(const SweepGrid& grid, const std::vector<PointSummary>& points);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_SUMMARY_H_
