// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_GRID_H_
#define VITRINE_TRAINER_SWEEP_GRID_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sweep.pb.h"

namespace vitrine {

// A setting of the sweep: one entry of each axis.
struct SweepPoint {
  std::string name;                 // "lr=1e-3,width=64"; "recipe" if the grid has no axes
  std::vector<std::string> labels;  // labels of the entries, one per axis
};

// A run of the sweep: a point with a seed.
struct SweepCell {
  std::string name;  // also the folder: "lr=1e-3,width=64,seed=1"; depends only on labels and seed
  size_t point = 0;  // index in the grid's points
  uint64_t seed = 0;
  std::vector<std::string> assignments;  // arguments of --set, in order
  v1::Recipe recipe;                     // recipe after all assignments
};

// A fully expanded sweep.
struct SweepGrid {
  std::string name;
  std::string description;
  std::string recipe;  // name of a bundled recipe, or a path
  std::string metric;
  bool lower_is_better = false;
  double margin = 0;                   // smallest difference of the metric that is relevant; 0: not given
  std::vector<std::string> axes = {};  // names of the axes
  std::vector<uint64_t> seeds = {};
  std::vector<SweepPoint> points = {};  // the last axis varies fastest
  std::vector<SweepCell> cells = {};    // ordered by point, then by seed
};

// Reads a grid's file. Sets a missing name to the file's name without extension, and makes the recipe's path absolute.
// NOT_FOUND if the file cannot be read; INVALID_ARGUMENT, with line and column, if it cannot be parsed.
absl::StatusOr<v1::Sweep> ReadSweep(const std::filesystem::path& file);

// Returns all runs of the sweep. INVALID_ARGUMENT: a path that the recipe does not have; an invalid value; an axis
// without values; two runs with the same recipe; a recipe that ValidateRecipe rejects; more than 10,000 runs. The
// message names the invalid axis, value or run.
absl::StatusOr<SweepGrid> ExpandSweep(const v1::Sweep& sweep);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_GRID_H_
