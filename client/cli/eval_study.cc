// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine eval --models A,B --resolutions 160,224`, and the function that runs this study.
#include <iostream>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/cli/eval.h"
#include "client/cli/options.h"
#include "client/commands/output/text.h"
#include "client/eval/compare/study.h"
#include "client/eval/compare/study_differences.h"
#include "client/eval/data.h"
#include "client/eval/eval_gates.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"

namespace vitrine {
namespace {

StudyPlan PlanOf(const EvalCommand& command, const StudyFlags& flags) {
  StudyPlan plan{.command = command};
  // The parsing of these texts cannot fail, because the checks of the flags accepted them.
  for (const std::string& model : flags.models) plan.models.push_back(*ParseModelChoice(model));
  for (const std::string& size : flags.resolutions) plan.resolutions.emplace_back(*ParseResolution(size));
  if (plan.models.empty()) plan.models = {command.model};
  if (plan.resolutions.empty()) plan.resolutions = {command.resolution};
  return plan;
}

// Prints the table of the cells. The JSON form also has the gates of each cell; the text form also has the differences
// from the first cell.
void PrintStudy(const Study& study, const std::vector<std::vector<GateResult>>& gates, Format format) {
  if (format != Format::kJson) {
    std::cout << StudyTable(study).Print(OutputFormat::kTable);
    const DataTable differences = DifferencesTable(study);
    if (!differences.Texts().empty()) {
      std::cout << "\nDifferences from the first, on the images that both answered; the column P, HOLM is corrected "
                   "for all rows:\n"
                << differences.Print(OutputFormat::kTable);
    }
    return;
  }
  nlohmann::ordered_json cells = StudyTable(study).AsJson();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!gates[i].empty()) cells[i]["gates"] = GatesJson(gates[i]);
  }
  std::cout << cells.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

// Prints missed gates and their cells on stderr; returns true if there are any.
bool SayMisses(const Study& study, const std::vector<std::vector<GateResult>>& gates) {
  bool missed = false;
  for (size_t i = 0; i < gates.size(); ++i) {
    for (const GateResult& result : gates[i]) {
      if (result.passed()) continue;
      missed = true;
      std::cerr << "vitrine: " << Printable(study.cells[i].folder) << ": " << MissInWords(result) << "\n";
    }
  }
  return missed;
}

void RejectDuplicates(const char* flag, const std::vector<std::string>& values) {
  std::set<std::string> known;
  for (const std::string& value : values) {
    if (!known.insert(value).second) throw CLI::ValidationError(flag, absl::StrCat(value, " is given twice"));
  }
}

}  // namespace

void CheckStudyFlags(const StudyFlags& flags) {
  RejectDuplicates("--models", flags.models);
  std::vector<std::string> sizes;  // always HxW: 32 becomes 32x32
  for (const std::string& size : flags.resolutions) {
    const v1::ResolutionWish requested = *ParseResolution(size);
    sizes.push_back(absl::StrCat(requested.height(), "x", requested.width()));
  }
  RejectDuplicates("--resolutions", sizes);
}

void AddStudyFlags(CLI::App& eval, StudyFlags& flags) {
  eval.add_option("--models", flags.models,
                  "several models, each in its own folder below --out, with a\ntable and plots")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(Checked([](const std::string& text) { return ParseModelChoice(text); }))
      ->type_name("NAME[@VERSION|@LABEL],...");
  eval.add_option("--resolutions", flags.resolutions, "several sizes, each in its own folder: 224 or 160x224")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(Checked(ParseResolution))
      ->type_name("SIZE,...");
}

int EvaluateStudy(const EvalCommand& command, const StudyFlags& study, const ReportOptions& report, Format format,
                  ProgressDisplay& progress, const std::atomic<bool>* stop) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(command.client);
  if (!client.ok()) return FailWithHint(client.status(), command.client);
  const absl::StatusOr<std::unique_ptr<Dataset>> data = OpenEvaluationData(command.data, command.split);
  if (!data.ok()) return Fail("vitrine", data.status());
  StudyPlan plan = PlanOf(command, study);
  for (ModelChoice& model : plan.models) {
    if (!model.name.empty()) continue;
    const absl::StatusOr<v1::ModelVersion> only = ChooseModel(**client, model);
    if (!only.ok()) return FailWithHint(only.status(), command.client);
    model.name = only->model();
  }
  bool all_reported = true;
  const CellRunner run = [&](const EvalCommand& cell) {
    progress.Line(Printable(absl::StrCat(cell.model.name, " into ", cell.out)));
    absl::StatusOr<EvalResult> result = RunEvaluation(cell, progress, stop);
    progress.Finish();
    if (!result.ok()) return result;
    all_reported &= Report(
        result->evaluation, report,
        {.folder = cell.out, .command = &cell, .ask = result->stopped.ok(), .progress = &progress, .stop = stop});
    return result;
  };
  const Study done = RunStudy(plan, **client, **data, run);
  const absl::Status written = WriteStudy(command.out, done);
  std::vector<std::vector<GateResult>> gates;
  for (const StudyCell& cell : done.cells) gates.push_back(JudgeEvaluation(command.gates, cell.metrics));
  PrintStudy(done, gates, format);
  std::cout << std::flush;
  const bool missed = SayMisses(done, gates);
  if (!written.ok()) return Fail("vitrine", written);
  const bool good = done.complete() && all_reported && !missed;
  if (!done.complete() && stop != nullptr && *stop) return InterruptedExitCode();
  return good ? kExitSuccess : kExitFailure;
}

}  // namespace vitrine
