// SPDX-License-Identifier: Apache-2.0
// `vitrine eval --models A,B --resolutions 160,224`.
#include <iostream>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/eval/data.h"
#include "client/eval/study.h"
#include "client/text.h"
#include "programs/client_eval.h"
#include "programs/client_options.h"
#include "programs/command_line.h"

namespace vitrine {
namespace {

// "224" is the square.
absl::StatusOr<v1::ResolutionWish> ParseStudySize(const std::string& text) {
  const bool square = text.find('x') == std::string::npos;
  return ParseResolution(square ? absl::StrCat(text, "x", text) : text);
}

StudyPlan PlanOf(const EvalCommand& command, const StudyFlags& flags) {
  StudyPlan plan{.command = command};
  // The checks have seen every text.
  for (const std::string& model : flags.models) plan.models.push_back(*ParseModelChoice(model));
  for (const std::string& size : flags.resolutions) plan.resolutions.emplace_back(*ParseStudySize(size));
  if (plan.models.empty()) plan.models = {command.model};
  if (plan.resolutions.empty()) plan.resolutions = {command.resolution};
  return plan;
}

void CheckTwice(const char* flag, const std::vector<std::string>& values) {
  std::set<std::string> known;
  for (const std::string& value : values) {
    if (!known.insert(value).second) throw CLI::ValidationError(flag, absl::StrCat(value, " is there twice"));
  }
}

}  // namespace

void CheckStudyFlags(const StudyFlags& flags) {
  CheckTwice("--models", flags.models);
  std::vector<std::string> sizes;  // 32 is 32x32
  for (const std::string& size : flags.resolutions) {
    const v1::ResolutionWish wish = *ParseStudySize(size);
    sizes.push_back(absl::StrCat(wish.height(), "x", wish.width()));
  }
  CheckTwice("--resolutions", sizes);
}

void AddStudyFlags(CLI::App& eval, StudyFlags& flags) {
  eval.add_option("--models", flags.models,
                  "several models, each into a folder of its own below\n--out, with a table and plots")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(Checked([](const std::string& text) { return ParseModelChoice(text); }))
      ->type_name("NAME[@VERSION|@LABEL],...");
  eval.add_option("--resolutions", flags.resolutions, "several sizes, likewise: 224 or 160x224")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(Checked(ParseStudySize))
      ->type_name("SIZE,...");
}

int EvaluateStudy(const EvalCommand& command, const StudyFlags& study, const ReportFlags& report, Format format,
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
  std::cout << StudyTable(done).Print(format == Format::kJson ? OutputFormat::kJson : OutputFormat::kTable)
            << std::flush;
  if (!written.ok()) return Fail("vitrine", written);
  return done.complete() && all_reported ? kExitSuccess : kExitFailure;
}

}  // namespace vitrine
