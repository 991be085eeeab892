// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine eval`.
#include "client/cli/eval.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/output/terminal.h"
#include "client/commands/output/text.h"
#include "client/eval/eval_gates.h"
#include "client/eval/metrics.h"
#include "client/eval/run/merge.h"
#include "client/eval/run/run.h"
#include "client/eval/summary.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/command_line/number_check.h"
#include "common/data/dataset.h"

namespace vitrine {
namespace {

constexpr char kEvalExamples[] = R"(Examples:
  A test split, with all results in results/:
    vitrine eval --model eit-mini-cifar10 --data cifar:/data/cifar-10 --out results/
  An image folder whose class names differ from the model's:
    vitrine eval --model eit-mini-cifar10 --data imagefolder:/data/pets --label-map pets.tsv --out results/
  One of three shards, and the merge of all:
    vitrine eval --model eit-mini-cifar10 --data csv:list.csv --shard 1/3 --out part1/
    vitrine eval merge part1/ part2/ part3/ --out results/

  Two models at three sizes, with plots of accuracy against cost:
    vitrine eval --models a,b --resolutions 160,224,320 --data imagefolder:DIR --out study/
  Two evaluations of the same images side by side:
    vitrine eval compare results/ other-results/ --out compared.html
  A gate for CI, also for a finished run, without classifying again:
    vitrine eval --model a --data cifar:DIR --out results/ --require 'top1>=78%' --require 'nll<=0.7'

  A calibration from images that the model was not trained on; vitrine-repo calibrate stores it:
    vitrine eval --model a --data cifar:DIR --shard 1/5 --out held-out/ --calibrate --sure-accuracy 0.9

The same command again continues a run that was stopped or killed.

A gate of --require is a measure, one of >=, >, <=, <, and a bound. Quote it: a shell reads a bare > as a redirection.
  top1, top5, macro_precision, macro_recall, macro_f1, ece    shares, as in 0.78 or 78%
  nll, brier                                                  numbers, as in 0.65

Exit code: 0 if every image was answered and every gate met, 1 if not (stderr has the reasons), 2 for a wrong command
line, 130 after Ctrl-C.)";

constexpr char kRequireHelp[] =
    "bound on a score, as in 'top1>=78%' (see below); may be repeated.\nThe exit code is 1 if one is missed";

struct EvalFlags {
  EvalCommand command;
  ReportOptions report;
  StudyFlags study;
  CalibrateFlags calibrate;
  Format format = Format::kTable;
};

struct MergeFlags {
  MergeOptions options;
  CalibrateFlags calibrate;
  Format format = Format::kTable;
};

// Prints results on stdout, and missing answers and missed gates on stderr. Returns the exit code.
int Conclude(const Evaluation& evaluation, const std::string& folder, Format format, const std::vector<Gate>& gates,
             const CalibrateFlags& calibrate) {
  absl::StatusOr<FittedCalibration> fitted = absl::UnknownError("not asked for");
  if (calibrate.wanted) fitted = FitAndWrite(evaluation, calibrate, folder);
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  const std::vector<GateResult> results = JudgeEvaluation(gates, metrics);
  if (format == Format::kJson) {
    nlohmann::ordered_json summary = SummaryJson(evaluation, metrics);
    if (!results.empty()) summary["gates"] = GatesJson(results);
    if (fitted.ok()) summary["calibrated"] = FittedCalibrationJson(evaluation, *fitted);
    std::cout << summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cout << SummaryText(evaluation, metrics, folder) << GatesText(results);
    if (fitted.ok()) std::cout << FittedCalibrationText(*fitted);
  }
  std::cout << std::flush;
  for (const std::string& sentence : WhatIsMissing(evaluation, metrics)) std::cerr << "vitrine: " << sentence << "\n";
  for (const GateResult& result : results) {
    if (!result.passed()) std::cerr << "vitrine: " << MissInWords(result) << "\n";
  }
  if (calibrate.wanted && !fitted.ok()) return Fail("vitrine", fitted.status());
  return metrics.ledger.complete() && AllPassed(results) ? kExitSuccess : kExitFailure;
}

int Evaluate(const EvalFlags& flags) {
  EndInOrder();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const int width = terminal ? PageBehind(STDERR_FILENO).width : 0;
  ProgressDisplay progress(std::cerr, {.is_terminal = terminal, .width = width, .plain_lines = absl::Seconds(10)});
  if (flags.study.wanted()) {
    return EvaluateStudy(flags.command, flags.study, flags.report, flags.format, progress, InterruptedFlag());
  }
  const absl::StatusOr<EvalResult> result = RunEvaluation(flags.command, progress, InterruptedFlag());
  progress.Finish();
  if (!result.ok()) {
    const int failed = FailWithHint(result.status(), flags.command.client);
    return Interrupted() ? InterruptedExitCode() : failed;
  }
  const bool reported = Report(result->evaluation, flags.report,
                               {.folder = flags.command.out,
                                .command = &flags.command,
                                .ask = result->stopped.ok(),
                                .progress = &progress,
                                .stop = InterruptedFlag()});
  const int exit = Conclude(result->evaluation, flags.command.out, flags.format, flags.command.gates, flags.calibrate);
  if (!result->stopped.ok()) {
    const int failed =
        Fail("vitrine", absl::Status(result->stopped.code(), absl::StrCat(Printable(result->stopped.message()),
                                                                          "; the same command again continues")));
    return Interrupted() ? InterruptedExitCode() : failed;
  }
  return reported ? exit : kExitFailure;
}

int Merge(const MergeFlags& flags) {
  const absl::StatusOr<Evaluation> merged = MergeEvaluations(flags.options);
  if (!merged.ok()) return Fail("vitrine", merged.status());
  const bool reported = Report(*merged, {}, {.folder = flags.options.out});
  const int exit = Conclude(*merged, flags.options.out, flags.format, flags.options.gates, flags.calibrate);
  return reported ? exit : kExitFailure;
}

void AddData(CLI::App& eval, EvalCommand& command) {
  eval.add_option("--data", command.data, "labelled images as FORMAT:PATH (formats below)")
      ->check(Checked([](const std::string& text) {
        return text.starts_with("cifar:") ? absl::OkStatus() : CheckDatasetSpec(text);
      }))
      ->type_name("SPEC");
  eval.add_option("--split", command.split, "test or train, if the data set has both")
      ->check(OneOf({"test", "train"}))
      ->type_name("SPLIT")
      ->capture_default_str();
  eval.add_option("--label-map", command.label_map,
                  "file with lines \"data label<TAB>model label or number\", for\nlabels that differ from the model's")
      ->type_name("FILE");
  eval.add_option("--limit", command.limit, "evaluate only N images, evenly spread")
      ->check(PositiveNumber())
      ->type_name("N");
  AddShardOption(eval, command.shard);
}

void AddRun(CLI::App& eval, EvalCommand& command) {
  eval.add_option("--out", command.out, "folder for the results; an unfinished run in it is continued")
      ->type_name("DIR");
  eval.add_flag("--restart", command.restart, "discard the contents of --out");
  eval.add_flag("--retry-failed", command.retry_failed, "retry images that were rejected or unreadable");
  AddDurationOption(eval, "--patience", command.patience,
                    "maximum wait for a server that was lost, or for the answer to\none image");
  eval.add_option("--top-k", command.top_k, "predictions kept for every image, 5 or more")
      ->check(CLI::Range(5, 100000).description(""))
      ->type_name("K")
      ->capture_default_str();
}

ClientCommand AddMerge(CLI::App& eval) {
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* merge = eval.add_subcommand("merge", "Merge the shards of an evaluation.");
  merge->add_option("DIR", flags->options.folders, "--out folders of the shards")->required()->type_name("");
  merge->add_option("--out", flags->options.out, "folder for the result")->required()->type_name("DIR");
  merge->add_flag("--allow-missing", flags->options.allow_missing, "merge even if shards or images are missing");
  AddCalibrateFlags(*merge, flags->calibrate);
  AddRequireOption(*merge, flags->options.gates, EvalGateMeasures(), kRequireHelp);
  AddFormatOption(*merge, flags->format);
  merge->footer(
      "Example:\n  vitrine eval merge part1/ part2/ part3/ --out results/ --require 'top1>=78%'\n\n"
      "vitrine eval --help lists the measures of --require.");
  return {merge, [flags] { return Merge(*flags); }};
}

}  // namespace

ClientCommand AddEval(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* eval = app.add_subcommand("eval", "Evaluate a model on a data set.");
  AddData(*eval, flags->command);
  AddModelOption(*eval, flags->command.model);
  AddRun(*eval, flags->command);
  AddReportFlags(*eval, flags->report);
  AddStudyFlags(*eval, flags->study);
  AddCalibrateFlags(*eval, flags->calibrate);
  AddRequireOption(*eval, flags->command.gates, EvalGateMeasures(), kRequireHelp);
  AddRequestOptions(*eval, flags->command.client, flags->command.resolution, flags->command.priority);
  eval->get_option("--priority")->default_str("low");
  // Accepts a single number N as NxN, as --resolutions does.
  eval->get_option("--resolution")
      ->transform(CLI::Validator(
          [](std::string& text) {
            if (text.find('x') == std::string::npos) text = absl::StrCat(text, "x", text);
            return std::string();
          },
          ""))
      ->type_name("SIZE");
  eval->get_option("--models")->excludes(eval->get_option("--model"));
  eval->get_option("--resolutions")->excludes(eval->get_option("--resolution"));
  for (const char* several : {"--models", "--resolutions"}) {
    eval->get_option("--calibrate")->excludes(eval->get_option(several));
  }
  AddServerOptions(*eval, flags->command.client);
  AddFormatOption(*eval, flags->format);
  const std::vector<ClientCommand> parts = {AddMerge(*eval), AddEvalCompare(*eval)};
  eval->footer(absl::StrCat("Formats of --data:\n", DatasetFormats(), "  cifar:DIR is short for cifar10:DIR\n\n",
                            kEvalExamples));
  eval->callback([eval, flags] {
    if (!eval->get_subcommands().empty()) {
      const std::string part = eval->get_subcommands().front()->get_name();
      return CheckEffective(*eval, {},
                            absl::StrCat("has no effect with ", part, "; leave it out, or give it after ", part));
    }
    if (flags->command.data.empty()) throw CLI::RequiredError("--data");
    if (flags->command.out.empty()) throw CLI::RequiredError("--out");
    flags->command.keep_logits = flags->calibrate.wanted;
    CheckStudyFlags(flags->study);
  });
  return {eval, [flags, parts] {
            for (const ClientCommand& part : parts) {
              if (part.app->parsed()) return part.run();
            }
            return Evaluate(*flags);
          }};
}

}  // namespace vitrine
