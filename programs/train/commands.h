// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_TRAIN_COMMANDS_H_
#define VITRINE_PROGRAMS_TRAIN_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/machine/machine.h"

// The commands of vitrine-train that have a file each: their flags, which outlive the parsing, and what they do.
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

// `vitrine-train sweep GRID.textproto`.
struct SweepFlags {
  std::string grid, data, work, report;
  std::string format = "table";
  std::vector<std::string> pass;  // further flags of every run
  int jobs = 1;
  int threads = 0;  // of each run; 0: the cores divided by the jobs
  bool list = false;
};

void AddSweep(CLI::App& app, SweepFlags& flags);

// Runs what has no result yet and prints the table on stdout. Takes over SIGINT and SIGTERM, which are passed to the
// runs. CANCELLED says how to continue; ABORTED names the runs that failed.
absl::Status RunSweep(const SweepFlags& flags);

// `vitrine-train evaluate`.
struct EvaluateFlags {
  std::string repository, model, data, resolutions, predictions;
  int threads = FindMachine().Threads();
  std::string format = "table";
};

void AddEvaluate(CLI::App& app, EvaluateFlags& flags);
absl::Status EvaluateModel(const EvaluateFlags& flags);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_TRAIN_COMMANDS_H_
