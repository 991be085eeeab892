// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/summary.h"

#include <algorithm>

#include "common/statistics/paired.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

void Complete(const SweepGrid& grid, PointSummary& point) {
  point.missing = grid.seeds.size() - point.seeds.size();
  if (point.seeds.empty()) return;
  std::vector<double> scores;
  for (const SeedScore& seed : point.seeds) {
    scores.push_back(seed.score);
    point.seconds += seed.seconds / static_cast<double>(point.seeds.size());
  }
  const MeanEstimate estimate = EstimateMean(scores);
  point.mean = estimate.mean;
  point.deviation = estimate.deviation;
  point.lowest = std::ranges::min(scores);
  point.highest = std::ranges::max(scores);
}

// Returns the score of `second` minus the score of `first` for each seed that both have.
std::vector<double> PairsOf(const PointSummary& first, const PointSummary& second) {
  std::vector<double> differences;
  for (const SeedScore& of_first : first.seeds) {
    for (const SeedScore& of_second : second.seeds) {
      if (of_first.seed == of_second.seed) differences.push_back(of_second.score - of_first.score);
    }
  }
  return differences;
}

// Returns true if there are other complete points, and all other complete points are significantly worse than `best`.
bool IsBest(const SweepGrid& grid, const std::vector<PointSummary>& points, const PointSummary& best) {
  std::vector<std::vector<double>> others;
  for (const PointSummary& point : points) {
    if (&point != &best && point.missing == 0) others.push_back(PairsOf(point, best));
  }
  const Finding better = grid.lower_is_better ? Finding::kBelow : Finding::kAbove;
  return !others.empty() &&
         std::ranges::all_of(TestPaired(others), [&](const PairedTest& test) { return test.finding == better; });
}

}  // namespace

absl::StatusOr<std::vector<PointSummary>> Summarise(const SweepGrid& grid,
                                                    const std::vector<std::optional<CellResult>>& results) {
  std::vector<PointSummary> points(grid.points.size());
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    if (!results[i]) continue;
    PointSummary& point = points[grid.cells[i].point];
    ASSIGN_OR_RETURN(const double score, ScoreOf(*results[i], grid.metric));
    point.seeds.push_back({grid.cells[i].seed, score, results[i]->seconds});
    point.parameters = results[i]->parameters;
  }
  for (PointSummary& point : points) Complete(grid, point);
  if (const std::optional<size_t> best = BestPoint(grid, points)) {
    points[*best].best = IsBest(grid, points, points[*best]);
  }
  return points;
}

std::optional<size_t> BestPoint(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  std::optional<size_t> best;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].missing > 0) continue;
    const double gain = best ? points[i].mean - points[*best].mean : 0;
    if (!best || (grid.lower_is_better ? gain < 0 : gain > 0)) best = i;
  }
  return best;
}

}  // namespace vitrine
