// SPDX-License-Identifier: Apache-2.0
// `vitrine-train sweep`.
#include "trainer/sweep/sweep.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/command_line/shell_quoted.h"
#include "common/data/file.h"
#include "common/file/replace.h"
#include "common/machine/machine.h"
#include "common/status_macros.h"
#include "models/repository/repository.h"
#include "trainer/cli/commands.h"
#include "trainer/program_digest.h"
#include "trainer/publish/publish.h"
#include "trainer/recipe/recipe_data.h"
#include "trainer/sweep/data_digest.h"
#include "trainer/sweep/grid.h"
#include "trainer/sweep/results.h"
#include "trainer/sweep/summary.h"
#include "trainer/sweep/table.h"

namespace vitrine {
namespace {

volatile std::sig_atomic_t signal_to_pass = 0;

void RememberSignal(int signal) {
  signal_to_pass = signal;
  NoteInterrupt(signal);
}

void CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = RememberSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int TakeSignal() {
  const int signal = signal_to_pass;
  signal_to_pass = 0;
  return signal;
}

SweepFormat FormatOf(const std::string& name) {
  if (name == "csv") return SweepFormat::kCsv;
  if (name == "json") return SweepFormat::kJson;
  return name == "markdown" ? SweepFormat::kMarkdown : SweepFormat::kTable;
}

// Returns the command line that continues the sweep.
std::string SameCommand(const SweepFlags& flags) {
  std::string command =
      absl::StrCat("vitrine-train sweep ", ShellQuoted(flags.grid), " --work ", ShellQuoted(flags.work));
  if (!flags.data.empty()) absl::StrAppend(&command, " --data ", ShellQuoted(flags.data));
  if (!flags.report.empty()) absl::StrAppend(&command, " --out ", ShellQuoted(flags.report));
  if (flags.jobs != 1) absl::StrAppend(&command, " --jobs ", flags.jobs);
  if (flags.threads != 0) absl::StrAppend(&command, " --threads ", flags.threads);
  if (flags.shard.of != 1) absl::StrAppend(&command, " --shard ", ToString(flags.shard));
  for (const std::string& flag : flags.pass) absl::StrAppend(&command, " --pass=", ShellQuoted(flag));
  if (!flags.publish_best.empty()) absl::StrAppend(&command, " --publish-best ", ShellQuoted(flags.publish_best));
  if (!flags.name.empty()) absl::StrAppend(&command, " --name ", ShellQuoted(flags.name));
  return command;
}

// Returns the status of the sweep. Called after the table is printed.
absl::Status Verdict(const SweepFlags& flags, const SweepGrid& grid, const SweepOutcome& outcome) {
  const auto finished = std::count_if(outcome.results.begin(), outcome.results.end(),
                                      [](const auto& result) { return result.has_value(); });
  if (outcome.stopped) {
    return absl::CancelledError(absl::StrFormat("stopped with %d of %d runs finished; continue with:\n  %s", finished,
                                                grid.cells.size(), SameCommand(flags)));
  }
  if (outcome.failures.empty()) return absl::OkStatus();
  std::string text = absl::StrFormat("%d of %d runs failed:\n", outcome.failures.size(), grid.cells.size());
  for (const SweepFailure& failure : outcome.failures) {
    absl::StrAppend(&text, "  ", failure.cell, ": ", failure.reason, "\n    (", failure.log.string(), ")\n");
  }
  return absl::AbortedError(absl::StrCat(text, "run them again with:\n  ", SameCommand(flags)));
}

// Fixes the start version and the teacher of the runs, because a newer version may be published between two runs.
absl::Status PinVersionsOf(SweepCell& cell) {
  RETURN_IF_ERROR(PinVersionsOfFlags(cell.recipe));
  const v1::Recipe& recipe = cell.recipe;
  if (recipe.has_start()) cell.assignments.push_back("start.version=" + recipe.start().version());
  if (recipe.has_distillation()) cell.assignments.push_back("distillation.teacher=" + recipe.distillation().teacher());
  return absl::OkStatus();
}

absl::StatusOr<SweepOptions> OptionsFrom(const SweepFlags& flags) {
  std::error_code error;
  SweepOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::UnavailableError(absl::StrCat("/proc/self/exe: ", error.message()));
  options.work = flags.work;
  options.data = flags.data;
  options.flags = flags.pass;
  options.program_digest = std::string(ProgramDigest());
  options.shard = flags.shard;
  options.jobs = flags.jobs;
  options.threads = flags.threads > 0 ? flags.threads : std::max(1, FindMachine().Threads() / flags.jobs);
  options.log = &std::cerr;
  options.is_terminal = isatty(STDERR_FILENO) != 0;
  options.stop = TakeSignal;
  return options;
}

// Checks that no flag of --pass changes the settings of the runs. Neither the runs' names nor the table would show such
// a change.
absl::Status CheckPassed(const SweepFlags& flags) {
  for (const std::string& flag : flags.pass) {
    const std::string name = flag.substr(0, flag.find('='));
    if (name != "--set" && name != "--epochs" && name != "--start" && name != "--teacher") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--pass=", flag, " would change the settings of every run; write it as `set:` in the grid"));
  }
  return absl::OkStatus();
}

// Checks that the best run can be published. Called before the first run.
absl::Status CheckPublishesBest(const SweepFlags& flags, const v1::Recipe& recipe) {
  if (flags.publish_best.empty()) return absl::OkStatus();
  if (recipe.has_sequence()) {
    return WrongCommandLine(
        absl::InvalidArgumentError("--publish-best: vitrine-server serves classifiers of images, not of sequences"));
  }
  for (const std::string& flag : flags.pass) {
    if (absl::StartsWith(flag, "--publish") || absl::StartsWith(flag, "--name")) {
      return WrongCommandLine(absl::InvalidArgumentError(
          absl::StrCat("--pass=", flag, " and --publish-best contradict each other; give one of them")));
    }
  }
  return CheckPublishable(flags.publish_best, flags.name.empty() ? recipe.name() : flags.name);
}

// Replaces this process by the first run of the best setting. That run has finished, so it only publishes. Its stdout
// is redirected to stderr, because this process's stdout has the table.
absl::Status PublishBest(const SweepFlags& flags, const SweepGrid& grid, const std::vector<PointSummary>& points,
                         const SweepOptions& options) {
  const std::optional<size_t> best = BestPoint(grid, points);
  const auto cell = std::ranges::find(grid.cells, best, &SweepCell::point);
  if (cell == grid.cells.end()) return absl::FailedPreconditionError("--publish-best: no setting has all its runs");
  std::cerr << "publishing " << cell->name << ", the first run of the setting with the best mean of " << grid.metric;
  if (points.size() > 1) {
    std::cerr << "; as the best of " << points.size() << " settings, it may be worse on other data than its card says";
  }
  std::cerr << "\n" << std::flush;
  std::vector<std::string> command = CommandOf(grid, options, *cell);
  command.insert(command.end(), {"--publish", flags.publish_best});
  if (!flags.name.empty()) command.insert(command.end(), {"--name", flags.name});
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (!std::cout.good()) return absl::UnavailableError("the standard output cannot be written");
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return absl::UnavailableError(std::strerror(errno));
  execv(arguments.front(), arguments.data());
  return absl::UnavailableError(absl::StrCat(command.front(), ": ", std::strerror(errno)));
}

}  // namespace

void AddSweep(CLI::App& app, SweepFlags& flags) {
  CLI::App& sweep = *app.add_subcommand("sweep", "Run a grid of settings and seeds; print a table of mean (deviation)");
  sweep.add_option("grid", flags.grid, "File with a textproto of vitrine.v1.Sweep")->required();
  sweep.add_option("--data", flags.data, "Data set, as for `vitrine-train run`");
  sweep.add_option("--work", flags.work, "Folder for the runs; runs in it are continued")->required();
  sweep.add_option("--out", flags.report, "Folder for table, plot and scores; default: WORK/report");
  sweep.add_option("--jobs", flags.jobs, "Number of runs in parallel; default: 1")->check(CLI::Range(1, 1024));
  sweep.add_option("--threads", flags.threads, "Number of threads per run; default: cores / --jobs")
      ->check(CLI::Range(1, 1024));
  sweep
      .add_option_function<std::string>(
          "--shard", [&flags](const std::string& text) { flags.shard = *ParseShard(text); },
          "Run only every N-th run of the grid, starting with number I, as in 1/3; /3 reads\nthe number from "
          "$JOB_COMPLETION_INDEX (Kubernetes Indexed Jobs)")
      ->check([](const std::string& text) { return std::string(ParseShard(text).status().message()); })
      ->type_name("I/N");
  sweep.add_option("--pass", flags.pass, "Flag to pass to every run, for instance --pass=--no-cache; repeatable")
      ->take_all()
      ->expected(1);
  sweep
      .add_option("--publish-best", flags.publish_best,
                  "Repository in which to publish the first run of the setting with the best mean, at the end")
      ->excludes("--shard");  // a shard has only some runs of each setting
  sweep.add_option("--name", flags.name, "Name to publish under; default: the recipe's")
      ->needs("--publish-best")
      ->check([](const std::string& name) { return std::string(ValidateModelName(name).message()); });
  sweep.add_flag("--list", flags.list,
                 "Check the grid and print the names of its runs, or of those of --shard, but run\nnothing");
  sweep.add_option("--format", flags.format, "Output format: table (default), csv, json or markdown")
      ->check(CLI::IsMember({"table", "csv", "json", "markdown"}));
  sweep.footer(
      "Each run is a process with its own folder, WORK/cells/NAME, which contains the log. Finished runs are not\n"
      "repeated; interrupted runs continue from their last state. A failed run does not stop the others.\n"
      "Several machines share a sweep by --shard; copy their WORK/cells into one folder, and the same command\n"
      "without --shard makes the table of all. With as many shards as seeds, each machine has a seed of every\n"
      "setting. docs/how-to/training.md describes the grid file.\n\n"
      "  vitrine-train sweep grid.textproto --data mnist:$VITRINE_DATA/mnist --work /tmp/sweep\n");
}

absl::Status RunSweep(const SweepFlags& flags) {
  RETURN_IF_ERROR(WrongCommandLine(CheckPassed(flags)));
  ASSIGN_OR_RETURN(const std::string grid_text, WrongCommandLine(ReadWholeFile(flags.grid)));
  const absl::StatusOr<v1::Sweep> sweep = ReadSweep(flags.grid);
  if (!sweep.ok()) return WrongCommandLine(sweep.status());
  absl::StatusOr<SweepGrid> grid = ExpandSweep(*sweep);
  if (!grid.ok()) {
    return WrongCommandLine(
        absl::Status(grid.status().code(), absl::StrCat(flags.grid, ": ", grid.status().message())));
  }
  if (flags.list) {
    for (size_t i = 0; i < grid->cells.size(); ++i) {
      if (IsOfShard(i, flags.shard)) std::cout << grid->cells[i].name << "\n";
    }
    return absl::OkStatus();
  }
  for (SweepCell& cell : grid->cells) {
    RETURN_IF_ERROR(PinVersionsOf(cell));
    if (!cell.recipe.has_sequence()) RETURN_IF_ERROR(WrongCommandLine(CompleteData(cell.recipe, flags.data)).status());
  }
  RETURN_IF_ERROR(CheckPublishesBest(flags, grid->cells[0].recipe));
  ASSIGN_OR_RETURN(SweepOptions options, OptionsFrom(flags));
  ASSIGN_OR_RETURN(options.data_digest, RunDataDigest(grid->cells[0].recipe, flags.data, options.threads));
  CatchSignals();  // only now: computing the digest may take minutes and cannot be stopped by TakeSignal
  ASSIGN_OR_RETURN(const SweepOutcome outcome, RunSweepGrid(*grid, options));
  ASSIGN_OR_RETURN(const std::vector<PointSummary> points, Summarise(*grid, outcome.results));
  std::cout << SweepTable(*grid, points, FormatOf(flags.format)) << std::flush;
  const std::filesystem::path report =
      flags.report.empty() ? std::filesystem::path(flags.work) / "report" : std::filesystem::path(flags.report);
  RETURN_IF_ERROR(WriteSweepReport(*grid, points, outcome, report));
  RETURN_IF_ERROR(ReplaceFile(report / "grid.textproto", grid_text));  // for readers of the report
  std::cerr << "table, plot and every score: " << report.string() << "\n";
  RETURN_IF_ERROR(Verdict(flags, *grid, outcome));
  return flags.publish_best.empty() ? absl::OkStatus() : PublishBest(flags, *grid, points, options);
}

}  // namespace vitrine
