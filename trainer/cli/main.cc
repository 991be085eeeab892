// SPDX-License-Identifier: Apache-2.0
// vitrine-train: trains and publishes models from recipes, runs sweeps over settings, measures published models and
// shows trained models of sequences.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/data/reduced.h"
#include "common/file/write.h"
#include "common/machine/machine.h"
#include "common/status_macros.h"
#include "models/workload/conventions.h"
#include "models/zoo.h"
#include "models/zoo/published.h"
#include "trainer/augment/sheet.h"
#include "trainer/cli/commands.h"
#include "trainer/lab/sequence_workload.h"
#include "trainer/lab/zoo.h"
#include "trainer/loop.h"
#include "trainer/recipe/recipe.h"
#include "trainer/recipe/recipe_data.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

// Flags of `vitrine-train print` and `vitrine-train augment`.
struct RecipeFlags {
  std::string recipe, data, output = "augmentation.png";
  std::vector<std::string> overrides;
};

void AddRecipe(CLI::App& command, RecipeFlags& flags) {
  command.add_option("recipe,--recipe", flags.recipe, "Name of a bundled recipe, or path of a .textproto file")
      ->required();
  command
      .add_option("--set", flags.overrides,
                  "Set a field of the recipe, for instance --set optimizer.lr=5e-4; repeatable")
      ->take_all()
      ->expected(1);
}

absl::Status Print(const RecipeFlags& flags) {
  // The recipe is not validated, because some recipes are incomplete without a start version.
  ASSIGN_OR_RETURN(const v1::Recipe recipe, WrongCommandLine(OverriddenRecipe(flags.recipe, flags.overrides)));
  std::cout << PrintRecipe(recipe);
  return absl::OkStatus();
}

absl::Status DrawAugmentation(const RecipeFlags& flags) {
  ASSIGN_OR_RETURN(const v1::Recipe recipe, WrongCommandLine(ReadRecipe(flags.recipe, flags.overrides)));
  if (recipe.has_sequence()) {
    return WrongCommandLine(absl::InvalidArgumentError(
        absl::StrCat(recipe.name(), " learns from sequences, which are not augmented; choose a recipe for images")));
  }
  ASSIGN_OR_RETURN(const std::string data, WrongCommandLine(CompleteData(recipe, flags.data)));
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> opened, OpenDataset(data, Split::kTrain));
  ASSIGN_OR_RETURN(const v1::Preprocessing preprocessing, ImageTask::PreprocessingOf(recipe));
  const std::unique_ptr<Dataset> train = MakeReduced(std::move(opened), preprocessing);
  ASSIGN_OR_RETURN(const std::string png, AugmentationSheet(*train, recipe, preprocessing));
  RETURN_IF_ERROR(WriteFile(flags.output, png));
  std::cout << flags.output << std::endl;
  return absl::OkStatus();
}

absl::Status List() {
  std::cout << "recipes (vitrine-train print NAME):\n";
  for (const BundledRecipe& bundled : BundledRecipes()) {
    ASSIGN_OR_RETURN(const v1::Recipe recipe, FindRecipe(std::string(bundled.name)));
    std::cout << absl::StreamFormat("  %-28s %s\n", recipe.name(), recipe.description());
  }
  std::cout << "\nmodels of the zoo (model: in a recipe):\n";
  for (const ZooRow& row : Zoo()) {
    std::cout << absl::StreamFormat("  %-32s %12d parameters   %s\n", std::string(row.name), row.parameters,
                                    std::string(row.source));
  }
  std::cout << "\nmodels of sequences and sets (sequence.model: in a recipe):\n";
  for (const SequenceRow& row : SequenceZoo()) {
    const int length = DefaultLength(row.config);
    const std::optional<Published> published = FindPublished(row.name);
    std::cout << absl::StreamFormat(
        "  %-32s %12d parameters   %.4f GMACs of %d%s elements   %s%s\n", std::string(row.name), row.parameters,
        Macs(SequenceWorkloadOf(row.config, length)) / 1e9, length,
        row.config.has_pair() ? absl::StrCat("+", length) : "", std::string(row.source),
        published ? absl::StrCat(" (printed: ", std::string(published->accuracy), " %)") : "");
  }
  return absl::OkStatus();
}

// Makes the heap keep freed memory. Every step allocates and frees tensors of many megabytes, and returning their pages
// to the system at every step would cost a fifth of the training time.
void KeepMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
}

int Main(int argc, char** argv) {
  KeepMemory();
  CLI::App app("Trains vision transformers from recipes and publishes them for vitrine-server.", kTrainProgram);
  app.footer(
      "Start with `vitrine-train list`; `vitrine-train COMMAND --help` explains each command. --recipe without a\n"
      "command runs the recipe: vitrine-train --recipe kv-mnist --data $VITRINE_DATA/mnist --publish my-models\n");
  RunFlags run;
  EvaluateFlags evaluate;
  SweepFlags sweep;
  InspectFlags inspect;
  RecipeFlags print, augment;
  app.add_option("--recipe", run.recipe, "Recipe to run: name of a bundled one, or path of a .textproto file");
  AddRunFlags(app, run);
  AddRun(app, run);
  AddSweep(app, sweep);
  AddEvaluate(app, evaluate);
  AddInspect(app, inspect);
  CLI::App& show = *app.add_subcommand("print", "Print a recipe with the values of --set");
  AddRecipe(show, print);
  show.footer("  vitrine-train print kv-mnist --set epochs=5\n");
  CLI::App& draw = *app.add_subcommand("augment", "Draw images as a recipe augments them");
  AddRecipe(draw, augment);
  draw.add_option("--data", augment.data, "Data set, as for `vitrine-train run`")->required();
  draw.add_option("--out", augment.output, "PNG file to write; default: augmentation.png");
  draw.footer("  vitrine-train augment kv-mnist --data $VITRINE_DATA/mnist --out augmented.png\n");
  app.add_subcommand("list", "List the bundled recipes and the models of the zoo")->footer("  vitrine-train list\n");
  app.require_subcommand(0, 1);
  const std::vector<RenamedWord> renamed = {
      {"augment", "--output", "--out"}, {"evaluate", "--predictions", "--out"}, {"sweep", "--report", "--out"}};
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv, renamed)) return *exit_code;
  if (app.get_subcommands().empty() && run.recipe.empty()) {
    std::cerr << app.help();
    return kExitUsage;
  }

  absl::Status status;
  if (app.got_subcommand("sweep")) {
    status = RunSweep(sweep);
  } else if (app.got_subcommand("print")) {
    status = Print(print);
  } else if (app.got_subcommand("augment")) {
    status = DrawAugmentation(augment);
  } else if (app.got_subcommand("list")) {
    status = List();
  } else if (Inspects(app)) {
    status = Inspect(app, inspect);
  } else {
    EndInOrder();
    SetComputeThreads(FindMachine().Threads());  // LibTorch's default respects the CPU mask but not the CPU quota
    status = app.got_subcommand("evaluate") ? EvaluateModel(evaluate) : RunRecipe(run);
  }
  if (status.ok()) return kExitSuccess;
  const int failed = Fail(kTrainProgram, status);
  return Interrupted() ? InterruptedExitCode() : failed;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::EndOutput(vitrine::kTrainProgram, vitrine::Main(argc, argv));
}
