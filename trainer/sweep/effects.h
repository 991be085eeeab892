// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_EFFECTS_H_
#define VITRINE_TRAINER_SWEEP_EFFECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/charts/html/data_table.h"
#include "common/statistics/paired.h"
#include "trainer/sweep/grid.h"
#include "trainer/sweep/summary.h"

namespace vitrine {

// Effect of one value of an axis. Covers all settings of the other axes and all seeds.
struct ValueEffect {
  size_t axis = 0;  // index in the grid's axes
  std::string value = {};
  int64_t runs = 0;  // finished runs
  double mean = 0;   // mean score of the finished runs
  // Test of the difference between this value and the axis's first value. A pair is two runs with the same seed and the
  // same settings on the other axes. nullopt for the first value.
  std::optional<PairedTest> test = {};
};

// Returns the effects of all axes with several values, in the grid's order. All effects are tested in one call of
// TestPaired.
std::vector<ValueEffect> EffectsOf(const SweepGrid& grid, const std::vector<PointSummary>& points);

// Returns a table with a row for each effect. If the table is printed as text, fractions are in percent.
DataTable EffectsTable(const SweepGrid& grid, const std::vector<ValueEffect>& effects);

// Returns sentences that explain the table.
std::string EffectsInWords(const SweepGrid& grid, const std::vector<ValueEffect>& effects);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_EFFECTS_H_
