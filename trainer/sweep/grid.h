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

// One entry of every axis.
struct SweepPoint {
  std::string name;                 // "lr=1e-3,width=64"; "recipe" where there is no axis
  std::vector<std::string> labels;  // one per axis
};

// One run: a point with a seed.
struct SweepCell {
  std::string name;  // of its folder: "lr=1e-3,width=64,seed=1"; the same for as long as labels and seed are
  size_t point = 0;  // which of the grid's points
  uint64_t seed = 0;
  std::vector<std::string> assignments;  // what --set takes, in order
  v1::Recipe recipe;                     // with all of them applied
};

// A sweep with nothing left open.
struct SweepGrid {
  std::string name;
  std::string description;
  std::string recipe;  // a bundled recipe's name, or a path
  std::string metric;
  bool lower_is_better = false;
  std::vector<std::string> axes = {};  // their headings
  std::vector<uint64_t> seeds = {};
  std::vector<SweepPoint> points = {};  // the last axis varies fastest
  std::vector<SweepCell> cells = {};    // point by point, each with its seeds in order
};

// Reads a grid's file; fills in its name and makes the recipe's path one that does not depend on the file's folder.
// NOT_FOUND; INVALID_ARGUMENT quotes line and column.
absl::StatusOr<v1::Sweep> ReadSweep(const std::filesystem::path& file);

// Every run of the sweep. INVALID_ARGUMENT, before anything runs, names the axis, value or run at fault: a path that
// the recipe does not have, a value that does not fit, an axis without values, two runs that are the same experiment,
// a recipe that ValidateRecipe refuses, more than 10,000 runs.
absl::StatusOr<SweepGrid> ExpandSweep(const v1::Sweep& sweep);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_GRID_H_
