// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_CLI_COMMANDS_H_
#define VITRINE_TRAINER_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/machine/machine.h"
#include "common/shard.h"
#include "trainer/inspect/generate.h"
#include "vitrine/v1/recipe.pb.h"

// Flags and actions of the vitrine-train commands that have a source file of their own. Structures of flags must exist
// until the command line is parsed.
namespace vitrine {

inline constexpr char kTrainProgram[] = "vitrine-train";

// Flags of `vitrine-train run RECIPE`, which can also be written as `vitrine-train --recipe RECIPE`.
struct RunFlags {
  std::string recipe, data, work, publish, name, epochs, revision, start, teacher, metrics, licence;
  std::string golden = "test";
  std::vector<std::string> overrides;
  bool resume = false, no_cache = false, no_report = false;
  int threads = FindMachine().Threads();
  int loader_threads = 1;
  int64_t save_every = 0;
};

// Adds the flags of a run, except the recipe.
void AddRunFlags(CLI::App& run, RunFlags& flags);
void AddRun(CLI::App& app, RunFlags& flags);

// Pins the versions that a recipe names (PinVersions). Marks INVALID_ARGUMENT as a usage error.
absl::Status PinVersionsOfFlags(v1::Recipe& recipe, const v1::Recipe& before = {});

// Adds --epochs, --start and --teacher to the overrides. INVALID_ARGUMENT: --epochs and --set epochs differ.
absl::Status ApplyShortFlags(RunFlags& flags);

// Returns the command line that continues a stopped run.
std::string HowToResume(const RunFlags& flags, const v1::Recipe& recipe);

// Trains, then publishes and reports as the flags say. Checks flags, recipe and data before the first step.
absl::Status RunRecipe(RunFlags flags);

// Flags of `vitrine-train sweep GRID.textproto`.
struct SweepFlags {
  std::string grid, data, work, report, publish_best, name;
  std::string format = "table";
  std::vector<std::string> pass;  // more flags for every run
  Shard shard;
  int jobs = 1;
  int threads = 0;  // threads per run; 0: cores / jobs
  bool list = false;
};

void AddSweep(CLI::App& app, SweepFlags& flags);

// Performs the runs that have no result yet and prints the table on stdout. Catches SIGINT and SIGTERM and passes them
// to the runs. At the end, --publish-best replaces this process (exec) by a process that publishes the first run of the
// best setting. CANCELLED (by a signal): the message says how to continue. ABORTED: the message names the failed runs.
absl::Status RunSweep(const SweepFlags& flags);

// Flags of `vitrine-train evaluate`.
struct EvaluateFlags {
  std::string repository, model, data, resolutions, predictions, features;
  std::string split = "test";
  int threads = FindMachine().Threads();
  std::string format = "table";
};

void AddEvaluate(CLI::App& app, EvaluateFlags& flags);
absl::Status EvaluateModel(const EvaluateFlags& flags);

// Flags of `vitrine-train attend`, `generate` and `translate`, which show a trained model of sequences.
struct InspectFlags {
  std::string run, data;
  // attend
  std::optional<std::string> text;
  std::string head, out;
  int64_t sample = 0;
  std::optional<int> layer;
  bool scores = false;
  // generate
  std::optional<std::string> prompt;
  GenerateOptions generate;
  // translate
  std::vector<std::string> texts;  // if empty, translates the lines of stdin
};

void AddInspect(CLI::App& app, InspectFlags& flags);
// Returns true if the command line has the command `attend`, `generate` or `translate`. Inspect then runs that command.
bool Inspects(const CLI::App& app);
absl::Status Inspect(const CLI::App& app, const InspectFlags& flags);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_CLI_COMMANDS_H_
