// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_TRAIN_RUN_H_
#define VITRINE_PROGRAMS_TRAIN_RUN_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/machine/machine.h"

namespace vitrine {

inline constexpr char kTrainProgram[] = "vitrine-train";

// `vitrine-train run RECIPE`, or without the word: `vitrine-train --recipe RECIPE`.
struct RunFlags {
  std::string recipe, data, work, publish, name, epochs, revision, start, teacher, metrics;
  std::string golden = "test";
  std::vector<std::string> overrides;
  bool resume = false, no_cache = false, no_report = false;
  int threads = FindMachine().Threads();
  int loader_threads = 1;
  int64_t save_every = 0;
};

// The flags of a run, but for the recipe.
void AddRunFlags(CLI::App& run, RunFlags& flags);
void AddRun(CLI::App& app, RunFlags& flags);

// Trains, and does with the result what the flags say. Everything that can be checked is checked before the first step.
absl::Status RunRecipe(RunFlags flags);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_TRAIN_RUN_H_
