// vitrine-train: trains a recipe, measures a published model, publishes.
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "data/dataset.h"
#include "models/zoo.h"
#include "programs/command_line.h"
#include "repository/checkpoint.h"
#include "repository/repository.h"
#include "trainer/evaluate.h"
#include "trainer/loop.h"
#include "trainer/publish.h"
#include "trainer/recipe.h"

namespace vitrine {
namespace {

constexpr char kProgram[] = "vitrine-train";
std::atomic<bool> stop_requested = false;

void RequestStop(int) {
  stop_requested = true;
}

// SIGINT and SIGTERM finish the step in hand; a second one of either ends at once.
void StopOnSignals() {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int DefaultThreads() {
  return std::max(1u, std::thread::hardware_concurrency());
}

struct RunFlags {
  std::string recipe, data, work, publish, name, epochs, revision;
  std::vector<std::string> overrides;
  bool resume = false, no_cache = false;
  int threads = DefaultThreads();
  int64_t save_every = 0;
};

struct EvaluateFlags {
  std::string repository, model, data, sizes;
  int64_t version = 0;
  int threads = DefaultThreads();
  std::string format = "table";
};

absl::StatusOr<v1::Recipe> ReadRecipe(const std::string& name, const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(v1::Recipe recipe, FindRecipe(name));
  for (const std::string& assignment : overrides) RETURN_IF_ERROR(ApplyOverride(assignment, recipe));
  RETURN_IF_ERROR(ValidateRecipe(recipe));
  return recipe;
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenData(const std::string& spec, Split split, bool cache, int threads) {
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, OpenDataset(spec, split));
  if (!cache) return data;
  return CacheInMemory(std::move(data), threads);
}

// The command line that continues a stopped run.
std::string HowToResume(const RunFlags& flags) {
  std::string command = absl::StrCat(kProgram, " run ", flags.recipe, " --data ", flags.data, " --work ", flags.work);
  for (const std::string& assignment : flags.overrides) absl::StrAppend(&command, " --set '", assignment, "'");
  if (!flags.publish.empty()) absl::StrAppend(&command, " --publish ", flags.publish, " --name ", flags.name);
  return command + " --resume";
}

absl::Status RunRecipe(RunFlags flags) {
  if (!flags.epochs.empty()) flags.overrides.push_back("epochs=" + flags.epochs);
  ASSIGN_OR_RETURN(const v1::Recipe recipe, ReadRecipe(flags.recipe, flags.overrides));
  if (flags.name.empty()) flags.name = recipe.name();
  if (flags.data.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data is missing; this recipe trains on --data ", recipe.data().hint()));
  }
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  ASSIGN_OR_RETURN(const auto train, OpenData(flags.data, Split::kTrain, !flags.no_cache, flags.threads));
  ASSIGN_OR_RETURN(const auto test, OpenData(flags.data, Split::kTest, !flags.no_cache, flags.threads));
  progress.Line(absl::StrFormat("%s: %d pictures to train on, %d to test, %d threads", recipe.name(), train->size(),
                                test->size(), flags.threads));
  TrainOptions options;
  options.work_dir = flags.work;
  options.resume = flags.resume;
  options.threads = flags.threads;
  options.save_every_steps = flags.save_every;
  options.stop = &stop_requested;
  ASSIGN_OR_RETURN(const TrainResult result, Train(recipe, *train, test.get(), options, progress));
  if (!result.finished) {
    progress.Line(absl::StrFormat("stopped after %.2f of %.2f epochs; continue with:\n  %s", result.epochs,
                                  recipe.epochs(), HowToResume(flags)));
    return absl::OkStatus();
  }
  if (flags.publish.empty()) return absl::OkStatus();
  PublishOptions publish;
  publish.repository = flags.publish;
  publish.model = flags.name;
  publish.source_revision = flags.revision;
  publish.overrides = flags.overrides;
  publish.threads = flags.threads;
  publish.say = [&progress](const std::string& text) { progress.Line(text); };
  ASSIGN_OR_RETURN(const VersionId id, PublishResult(recipe, result, *train, *test, publish));
  std::cout << flags.publish << "/" << id.model << "/" << id.version << std::endl;
  return absl::OkStatus();
}

absl::StatusOr<VersionId> ChooseVersion(const EvaluateFlags& flags) {
  if (flags.version > 0) return VersionId{flags.model, flags.version};
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(flags.repository));
  VersionId newest;
  for (const VersionId& id : versions) {
    if (id.model == flags.model && id.version > newest.version) newest = id;
  }
  if (newest.version > 0) return newest;
  return absl::NotFoundError(absl::StrCat(flags.repository, " has no version of ", flags.model));
}

void PrintAccuracy(const EvaluateFlags& flags, const std::string& size, const Accuracy& accuracy) {
  if (flags.format == "table") {
    std::cout << absl::StreamFormat("%-9s  top-1 %6.2f %%  loss %.4f  %d pictures\n", size, 100 * accuracy.top1(),
                                    accuracy.loss, accuracy.images);
  } else if (flags.format == "csv") {
    std::cout << absl::StreamFormat("%s,%.6f,%.6f,%d\n", size, accuracy.top1(), accuracy.loss, accuracy.images);
  } else {
    std::cout << absl::StreamFormat("{\"size\":\"%s\",\"top1\":%.6f,\"loss\":%.6f,\"images\":%d}\n", size,
                                    accuracy.top1(), accuracy.loss, accuracy.images);
  }
  std::cout << std::flush;
}

absl::Status EvaluateModel(const EvaluateFlags& flags) {
  ASSIGN_OR_RETURN(const VersionId id, ChooseVersion(flags));
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersion(flags.repository, id));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, BuildModel(version));
  ASSIGN_OR_RETURN(const auto data, OpenData(flags.data, Split::kTest, /*cache=*/true, flags.threads));
  if (data->labels() != version.labels) {
    return absl::InvalidArgumentError(absl::StrCat(flags.data, " has other classes than ", id.model));
  }
  SetComputeThreads(1);  // each batch is a thread
  std::vector<std::optional<Size>> sizes;
  for (size_t first = 0; first < flags.sizes.size();) {
    const size_t comma = std::min(flags.sizes.find(',', first), flags.sizes.size());
    ASSIGN_OR_RETURN(const Size size, ParseSize(flags.sizes.substr(first, comma - first)));
    sizes.push_back(size);
    first = comma + 1;
  }
  if (sizes.empty()) sizes.push_back(std::nullopt);
  if (flags.format == "csv") std::cout << "size,top1,loss,images\n";
  for (const std::optional<Size>& size : sizes) {
    ASSIGN_OR_RETURN(const Accuracy accuracy,
                     Evaluate(*model, *data, size, {.threads = flags.threads, .stop = &stop_requested}));
    PrintAccuracy(flags, size ? ToString(*size) : "own", accuracy);
  }
  return absl::OkStatus();
}

void List() {
  std::cout << "recipes (vitrine-train print NAME):\n";
  for (const BundledRecipe& recipe : BundledRecipes()) std::cout << "  " << recipe.name << "\n";
  std::cout << "\nmodels of the zoo (model: in a recipe):\n";
  for (const ZooRow& row : Zoo()) {
    std::cout << absl::StreamFormat("  %-32s %12d parameters   %s\n", std::string(row.name), row.parameters,
                                    std::string(row.source));
  }
}

void AddRun(CLI::App& app, RunFlags& flags) {
  CLI::App& run = *app.add_subcommand("run", "Train a recipe; with --publish, put the result into a repository");
  run.add_option("recipe", flags.recipe, "A bundled recipe's name, or the path of a .textproto file")->required();
  run.add_option("--data", flags.data, "mnist:DIR, fashion-mnist:DIR or imagefolder:DIR");
  run.add_option("--work", flags.work, "Folder for the state of the run and history.csv")->required();
  run.add_option("--set", flags.overrides,
                 "Replace a field of the recipe: --set optimizer.lr=5e-4 --set evaluation_sizes=24,32x24")
      ->take_all()
      ->expected(1);
  run.add_option("--epochs", flags.epochs, "Short for --set epochs=N; a continued run may change it");
  run.add_flag("--resume", flags.resume, "Continue from the state in --work");
  run.add_option("--threads", flags.threads, "Threads of the computation")->check(CLI::Range(1, 1024));
  run.add_option("--save-every", flags.save_every, "Write the state every so many steps besides every epoch's end")
      ->check(CLI::NonNegativeNumber);
  run.add_flag("--no-cache", flags.no_cache, "Decode each picture anew instead of keeping all in memory");
  run.add_option("--publish", flags.publish, "Repository to publish into; made if it is missing or empty");
  run.add_option("--name", flags.name, "Name to publish under; default: the recipe's");
  run.add_option("--revision", flags.revision,
                 "Source revision for the provenance, for instance $(git rev-parse HEAD)");
  run.footer(
      "Ctrl-C or SIGTERM ends the run after the step in hand and says how to continue.\n\n"
      "  vitrine-train run kv-pos-mnist --data mnist:$VITRINE_DATA/mnist --work /tmp/mnist --publish repository\n");
}

void AddEvaluate(CLI::App& app, EvaluateFlags& flags) {
  CLI::App& evaluate = *app.add_subcommand("evaluate", "Measure a published model on a test split");
  evaluate.add_option("--repository", flags.repository, "Repository that holds the model")->required();
  evaluate.add_option("--model", flags.model, "Name of the model")->required();
  evaluate.add_option("--version-number", flags.version, "Version; default: the newest")->check(CLI::PositiveNumber);
  evaluate.add_option("--data", flags.data, "mnist:DIR, fashion-mnist:DIR or imagefolder:DIR")->required();
  evaluate.add_option("--sizes", flags.sizes, "Input sizes, for instance 24,32,40x24; default: each picture's own");
  evaluate.add_option("--threads", flags.threads, "Threads of the computation")->check(CLI::Range(1, 1024));
  evaluate.add_option("--format", flags.format, "table, json or csv")->check(CLI::IsMember({"table", "json", "csv"}));
}

// Tensors of many megabytes come and go at every step. Given back to the system each time, their pages cost a fifth of
// the time of training; so the heap keeps them.
void KeepMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
}

int Main(int argc, char** argv) {
  KeepMemory();
  CLI::App app("Trains vision transformers from recipes and publishes them for vitrine-server.", kProgram);
  app.require_subcommand(1);
  app.footer("Start with `vitrine-train list`; `vitrine-train COMMAND --help` explains each command.");
  RunFlags run;
  EvaluateFlags evaluate;
  AddRun(app, run);
  AddEvaluate(app, evaluate);
  std::string recipe;
  std::vector<std::string> overrides;
  CLI::App& print = *app.add_subcommand("print", "Print a recipe, with overrides applied");
  print.add_option("recipe", recipe, "A bundled recipe's name, or the path of a .textproto file")->required();
  print.add_option("--set", overrides, "Replace a field of the recipe")->take_all()->expected(1);
  app.add_subcommand("list", "List the bundled recipes and the models of the zoo");
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;

  StopOnSignals();
  absl::Status status;
  if (app.got_subcommand("run")) {
    status = RunRecipe(run);
  } else if (app.got_subcommand("evaluate")) {
    status = EvaluateModel(evaluate);
  } else if (app.got_subcommand("print")) {
    const absl::StatusOr<v1::Recipe> read = ReadRecipe(recipe, overrides);
    status = read.status();
    if (read.ok()) std::cout << PrintRecipe(*read);
  } else {
    List();
  }
  return status.ok() ? kExitSuccess : Fail(kProgram, status);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
