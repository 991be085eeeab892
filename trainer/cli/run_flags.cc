// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine-train run`.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "common/command_line/shell_quoted.h"
#include "common/data/dataset.h"
#include "models/repository/manifest.h"
#include "models/repository/repository.h"
#include "trainer/cli/commands.h"
#include "trainer/publish/publish.h"
#include "trainer/watch/metrics_endpoint.h"

namespace vitrine {

std::string HowToResume(const RunFlags& flags, const v1::Recipe& recipe) {
  std::string command =
      absl::StrCat(kTrainProgram, " run ", ShellQuoted(flags.recipe), " --work ", ShellQuoted(flags.work));
  if (!flags.data.empty()) absl::StrAppend(&command, " --data ", ShellQuoted(flags.data));
  if (!flags.epochs.empty()) absl::StrAppend(&command, " --epochs ", ShellQuoted(flags.epochs));
  for (const std::string& assignment : flags.overrides) {
    if (!flags.epochs.empty() && assignment == "epochs=" + flags.epochs) continue;
    absl::StrAppend(&command, " --set ", ShellQuoted(assignment));
  }
  // The command names the pinned versions, since a newer version may be published before the run continues.
  if (recipe.has_start()) absl::StrAppend(&command, " --start ", ShellQuoted(recipe.start().version()));
  if (recipe.has_distillation()) absl::StrAppend(&command, " --teacher ", ShellQuoted(recipe.distillation().teacher()));
  if (!flags.publish.empty())
    absl::StrAppend(&command, " --publish ", ShellQuoted(flags.publish), " --name ", ShellQuoted(flags.name));
  if (flags.golden != RunFlags().golden) absl::StrAppend(&command, " --golden ", flags.golden);
  if (flags.threads != RunFlags().threads) absl::StrAppend(&command, " --threads ", flags.threads);
  if (flags.loader_threads != 1) absl::StrAppend(&command, " --loader-threads ", flags.loader_threads);
  if (flags.save_every > 0) absl::StrAppend(&command, " --save-every ", flags.save_every);
  if (flags.no_cache) absl::StrAppend(&command, " --no-cache");
  if (flags.no_report) absl::StrAppend(&command, " --no-report");
  if (!flags.metrics.empty()) absl::StrAppend(&command, " --metrics ", ShellQuoted(flags.metrics));
  if (!flags.revision.empty()) absl::StrAppend(&command, " --revision ", ShellQuoted(flags.revision));
  if (!flags.licence.empty()) absl::StrAppend(&command, " --licence ", ShellQuoted(flags.licence));
  return command + " --resume";
}

absl::Status PinVersionsOfFlags(v1::Recipe& recipe, const v1::Recipe& before) {
  const absl::Status pinned = PinVersions(recipe, before);
  return absl::IsInvalidArgument(pinned) ? WrongCommandLine(pinned) : pinned;
}

absl::Status ApplyShortFlags(RunFlags& flags) {
  for (const std::string& assignment : flags.overrides) {
    if (flags.epochs.empty() || !absl::StartsWith(assignment, "epochs=") || assignment == "epochs=" + flags.epochs) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--epochs ", flags.epochs, " and --set ", assignment, " differ; give one of them"));
  }
  if (!flags.epochs.empty()) flags.overrides.push_back("epochs=" + flags.epochs);
  if (!flags.start.empty()) flags.overrides.push_back("start.version=" + flags.start);
  if (!flags.teacher.empty()) flags.overrides.push_back("distillation.teacher=" + flags.teacher);
  return absl::OkStatus();
}

void AddRunFlags(CLI::App& run, RunFlags& flags) {
  run.add_option("--data", flags.data,
                 "Data set as FORMAT:PATH, or PATH if the recipe names the format. Formats:\n" + DatasetFormats());
  run.add_option("--work", flags.work,
                 "Folder for state, history.csv, event files and report; default: a new folder runs/RECIPE");
  run.add_option("--set", flags.overrides,
                 "Set a field of the recipe; repeatable: --set optimizer.lr=5e-4 --set evaluation_sizes=24,32x24")
      ->take_all()
      ->expected(1);
  run.add_option("--epochs", flags.epochs, "Short for --set epochs=N; may differ when a run is resumed");
  run.add_option("--start", flags.start,
                 "Short for --set start.version=REPOSITORY/MODEL: initial weights and their preprocessing");
  run.add_option("--teacher", flags.teacher, "Short for --set distillation.teacher=REPOSITORY/MODEL");
  run.add_flag("--resume", flags.resume, "Continue from the state in --work");
  run.add_option("--threads", flags.threads, "Number of threads for computation")->check(CLI::Range(1, 1024));
  run.add_option("--loader-threads", flags.loader_threads, "Number of threads that read and augment")
      ->check(CLI::Range(1, 1024));
  run.add_option("--save-every", flags.save_every,
                 "Write the state every N steps, and after each epoch; default: only after each epoch")
      ->check(CLI::NonNegativeNumber);
  run.add_flag("--no-cache", flags.no_cache, "Decode each image when it is used, instead of keeping all in memory");
  run.add_option("--metrics", flags.metrics, "HOST:PORT for Prometheus: /metrics and /healthz; default: none")
      ->check([](const std::string& address) { return std::string(CheckMetricsAddress(address).message()); });
  run.add_flag("--no-report", flags.no_report, "Do not write report.html at the end");
  run.add_option("--publish", flags.publish, "Repository to publish in; created if missing or empty");
  run.add_option("--name", flags.name, "Name to publish under; default: the recipe's")
      ->check([](const std::string& name) { return std::string(ValidateModelName(name).message()); });
  run.add_option("--golden", flags.golden,
                 "Golden inputs of the version: test (default), images of the test split, which the version then "
                 "contains; or synthetic, patterns")
      ->check(CLI::IsMember({"test", "synthetic"}));
  run.add_option("--revision", flags.revision,
                 "Source revision for the provenance; default: this program's, see --version");
  run.add_option("--licence", flags.licence,
                 "Licence of the weights, an SPDX identifier or text; default: the licence of --start, else none")
      ->type_name("ID")
      ->check(FaultOfLicence);
}

void AddRun(CLI::App& app, RunFlags& flags) {
  CLI::App& run = *app.add_subcommand("run", "Train a recipe; with --publish, publish the result in a repository");
  run.add_option("recipe,--recipe", flags.recipe, "Name of a bundled recipe, or path of a .textproto file")->required();
  AddRunFlags(run, flags);
  run.footer(
      "Ctrl-C or SIGTERM ends the run after the current step and prints how to continue. Under torchrun, or another\n"
      "launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, the processes train one model together.\n\n"
      "  vitrine-train run kv-mnist --data $VITRINE_DATA/mnist --publish my-models\n"
      "  tensorboard --logdir runs\n");
}

}  // namespace vitrine
