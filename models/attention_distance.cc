// SPDX-License-Identifier: Apache-2.0
#include "models/attention_distance.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

namespace vitrine {
namespace {

// Limit for the ratio of two sums over a query's row: the sum of the weights for cells, divided by the sum of the
// weights for prefix tokens. At or below the limit, the query counts as attending only to the prefix. The weights for
// cells are then tiny instead of 0, because the exponential function of the kernels never returns 0; its smallest
// results are near 1e-38. Without this limit, a query that attends only to the prefix would seem to attend uniformly to
// the grid.
constexpr double kNoShare = 1e-30;

// Returns the distance from the first cell of the grid to each cell, in cells. The distance between two cells depends
// only on the differences of their rows and columns, so these distances are enough.
std::vector<double> DistancesFromTheFirst(Grid grid) {
  std::vector<double> distances;
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) distances.push_back(std::hypot(row, column));
  }
  return distances;
}

}  // namespace

double AttentionDistance(std::span<const float> weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass) {
  const std::vector<double> distances = DistancesFromTheFirst(grid);
  const int64_t tokens = prefix_tokens + grid.cells();
  double sum = 0;
  int64_t queries = 0;  // number of queries in the average
  for (int64_t query = 0; query < grid.cells(); ++query) {
    const auto row = static_cast<int>(query / grid.columns), column = static_cast<int>(query % grid.columns);
    const float* weight = &weights[static_cast<size_t>((prefix_tokens + query) * tokens)];
    double prefix = 0, mass = 0, weighted = 0;
    for (int key = 0; key < prefix_tokens; ++key, ++weight) prefix += std::abs(*weight);
    for (int key_row = 0; key_row < grid.rows; ++key_row) {
      const double* of_row =
          &distances[static_cast<size_t>(std::abs(row - key_row)) * static_cast<size_t>(grid.columns)];
      for (int key_column = 0; key_column < grid.columns; ++key_column, ++weight) {
        const double magnitude = std::abs(*weight);
        mass += magnitude;
        weighted += magnitude * of_row[std::abs(column - key_column)];
      }
    }
    const bool none = mass <= kNoShare * prefix;
    if (keep_class_mass) mass += prefix;
    if (mass > 0 && (keep_class_mass || !none)) {
      sum += weighted / mass;
      ++queries;
    }
  }
  if (queries == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum / static_cast<double>(queries) * cell;
}

}  // namespace vitrine
