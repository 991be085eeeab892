// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/prepare.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/commands/output/text.h"
#include "client/eval/data.h"
#include "common/data/digest.h"
#include "common/data/file_names.h"
#include "common/data/label_map.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kNap = absl::Milliseconds(100);

std::string UnknownLabels(const LabelMatch& match) {
  constexpr size_t kMost = 10;
  std::vector<std::string> shown(match.unknown.begin(),
                                 match.unknown.begin() + static_cast<ptrdiff_t>(std::min(match.unknown.size(), kMost)));
  for (std::string& label : shown) label = Printable(label);
  return absl::StrCat("vitrine: the model has no class for ", match.unknown.size(), " of the data set's ",
                      match.classes.size(), " labels: ", absl::StrJoin(shown, ", "),
                      match.unknown.size() > shown.size() ? ", ..." : "",
                      "; their images are not sent (see --label-map)");
}

EvaluationSettings SettingsOf(const EvalCommand& command, const Dataset& data) {
  EvaluationSettings settings;
  settings.split = command.split;
  settings.data_digest = DigestOf(data);
  settings.data_order = OrderedDigestOf(data);
  settings.data_images = data.size();
  settings.limit = command.limit;
  settings.shard = command.shard;
  if (command.resolution.has_value()) {
    settings.resolution = absl::StrCat(command.resolution->height(), "x", command.resolution->width());
  }
  settings.top_k = command.top_k;
  return settings;
}

bool Stopping(const std::atomic<bool>* stop) {
  return stop != nullptr && *stop;
}

// Returns true if the server has the model but is still loading it.
bool IsLoading(Client& client, const ModelChoice& choice) {
  const absl::StatusOr<v1::ListModelsResponse> all = client.ListModels();
  return all.ok() && std::any_of(all->versions().begin(), all->versions().end(), [&](const v1::ModelVersion& version) {
           return version.state() == v1::LOADING && (choice.name.empty() || choice.name == version.model()) &&
                  choice.version.value_or(version.version()) == version.version();
         });
}

// Returns the model if it is ready. UNAVAILABLE: it is not ready, but may become so.
absl::StatusOr<v1::ModelVersion> ReadyModel(Client& client, const ModelChoice& choice) {
  absl::StatusOr<v1::ModelVersion> model = ChooseModel(client, choice);
  if (!model.ok()) {
    if (absl::IsUnavailable(model.status()) || !IsLoading(client, choice)) return model;
    return absl::UnavailableError(absl::StrCat(choice.name.empty() ? "the model" : choice.name, " is being loaded"));
  }
  if (model->state() == v1::READY) return model;
  const std::string name = absl::StrCat(model->model(), "@", model->version());
  if (model->state() == v1::LOADING) return absl::UnavailableError(absl::StrCat(name, " is being loaded"));
  return absl::FailedPreconditionError(absl::StrCat(name, " is not ready; see vitrine models"));
}

// Connects, with retries until the connect timeout, because a starting server does not listen yet.
absl::StatusOr<std::unique_ptr<Client>> ConnectPatiently(ClientOptions options, const std::atomic<bool>* stop) {
  const absl::Time end = absl::Now() + options.connect_timeout;
  while (true) {
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(options);
    const absl::Duration left = end - absl::Now();
    if (!absl::IsUnavailable(client.status()) || left <= kNap || Stopping(stop)) return client;
    absl::SleepFor(kNap);
    options.connect_timeout = left;
  }
}

absl::StatusOr<std::pair<std::unique_ptr<Client>, v1::ModelVersion>> ChooseReady(const EvalCommand& command,
                                                                                 ProgressDisplay& display,
                                                                                 const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client, ConnectPatiently(command.client, stop));
  const absl::Time end = absl::Now() + command.patience;
  for (bool said = false;; said = true) {
    absl::StatusOr<v1::ModelVersion> model = ReadyModel(*client, command.model);
    if (model.ok()) return std::pair(std::move(client), *std::move(model));
    if (!absl::IsUnavailable(model.status()) || absl::Now() >= end) return model.status();
    if (!said) {
      display.Line(absl::StrCat("vitrine: ", Printable(model.status().message()), "; waiting up to ",
                                absl::FormatDuration(command.patience)));
    }
    for (int naps = 0; naps < 5 && !Stopping(stop); ++naps) absl::SleepFor(kNap);
    if (Stopping(stop)) return absl::CancelledError("the run was stopped");
    if (auto again = Client::Connect(command.client); again.ok()) client = *std::move(again);
  }
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareRun(const EvalCommand& command, ProgressDisplay& display,
                                       const std::atomic<bool>* stop) {
  PreparedRun run;
  ASSIGN_OR_RETURN(run.data, OpenEvaluationData(command.data, command.split));
  for (const std::string& remark : run.data->remarks()) display.Line(absl::StrCat("vitrine: ", Printable(remark)));
  std::vector<LabelRow> rows;
  if (!command.label_map.empty()) {
    ASSIGN_OR_RETURN(rows, ReadLabelMap(command.label_map));
  }
  for (LabelRow& row : rows) {
    // Escapes the data's labels like those of the data set, unless they are already escaped.
    if (row.data.find("\\x") == std::string::npos) row.data = EscapedBytes(row.data);
  }
  ASSIGN_OR_RETURN(std::tie(run.client, run.evaluation.model), ChooseReady(command, display, stop));
  v1::ModelVersion& model = run.evaluation.model;
  if (!IsLookedUp(model)) {  // this client may classify, but not call the Registry
    ASSIGN_OR_RETURN(const std::vector<std::string> known,
                     ProbeLabels(*run.client, {.name = model.model(), .version = model.version()}));
    model.mutable_labels()->Add(known.begin(), known.end());
    model.mutable_config()->set_classes(static_cast<int>(known.size()));
  }
  const std::vector<std::string> labels(model.labels().begin(), model.labels().end());
  ASSIGN_OR_RETURN(LabelMatch match, MatchLabels(run.data->labels(), labels, rows));
  if (run.data->undivided()) {
    display.Line(absl::StrCat("vitrine: ", Printable(command.data), " names no splits; all its ", run.data->size(),
                              " images are the ", command.split, " split"));
  }
  for (const std::string& line : MatchInWords(match, *run.data)) display.Line(absl::StrCat("vitrine: ", line));
  if (!match.unknown.empty()) display.Line(UnknownLabels(match));

  run.evaluation.data = command.data;
  run.evaluation.data_labels = run.data->labels();
  run.evaluation.settings = SettingsOf(command, *run.data);
  run.evaluation.settings.label_map = std::move(match.classes);
  run.evaluation.expected = CountChosen(run.evaluation.settings);
  return run;
}

}  // namespace vitrine
