// SPDX-License-Identifier: Apache-2.0
#include "client/eval/page/page.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/html/figures.h"
#include "common/command_line/shell_quoted.h"
#include "common/data/label_map.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Builds "vitrine eval --flag value ...".
class Command {
 public:
  void Add(const char* flag, const std::string& value) { absl::StrAppend(&text_, " ", flag, " ", ShellQuoted(value)); }
  void AddUnless(const std::string& standard, const char* flag, const std::string& value) {
    if (value != standard) Add(flag, value);
  }
  void AddUnless(absl::Duration standard, const char* flag, absl::Duration value) {
    if (value != standard) Add(flag, absl::FormatDuration(value));
  }
  void AddSwitch(const char* flag) { absl::StrAppend(&text_, " ", flag); }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "vitrine eval";
};

// Adds the options about connection, priority and waiting, which an Evaluation does not store.
void AddRun(const EvalCommand& command, Command& text) {
  const EvalCommand standard;
  const ClientOptions& client = command.client;
  text.AddUnless(absl::StrCat(standard.client.max_in_flight), "--max-in-flight", absl::StrCat(client.max_in_flight));
  if (command.priority != standard.priority) text.Add("--priority", command.priority == v1::HIGH ? "high" : "normal");
  text.AddUnless(standard.patience, "--patience", command.patience);
  text.AddUnless(standard.client.deadline, "--deadline", client.deadline);
  text.AddUnless(standard.client.connect_timeout, "--connect-timeout", client.connect_timeout);
  text.AddUnless(absl::StrCat(standard.client.retry.max_attempts), "--max-attempts",
                 absl::StrCat(client.retry.max_attempts));
  text.AddUnless(standard.client.keepalive, "--keepalive", client.keepalive);
  if (client.tls.has_value()) {
    text.AddSwitch("--tls");
    text.AddUnless("", "--tls-ca", client.tls->ca_file);
    text.AddUnless("", "--tls-cert", client.tls->certificate_file);
    text.AddUnless("", "--tls-key", client.tls->key_file);
    text.AddUnless("", "--tls-server-name", client.tls->server_name);
  }
  text.AddUnless("", "--token-file", client.token_file);
}

// Returns true if the command needs a label map, because MatchLabels without a label map would not give the
// evaluation's mapping of classes.
bool NeedsLabelMap(const Evaluation& evaluation) {
  const auto& labels = evaluation.model.labels();
  const auto match = MatchLabels(evaluation.data_labels, {labels.begin(), labels.end()});
  return !match.ok() || match->classes != evaluation.settings.label_map;
}

std::string WithoutSlashes(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

}  // namespace

std::vector<const Prediction*> SurestMistakes(const Evaluation& evaluation, size_t most) {
  std::vector<const Prediction*> mistakes;
  for (const Prediction& prediction : evaluation.predictions) {
    const bool wrong = prediction.outcome == Outcome::kAnswered && !prediction.correct();
    if (wrong && !prediction.guesses.empty()) mistakes.push_back(&prediction);
  }
  std::ranges::sort(mistakes, {}, [](const Prediction* prediction) {
    return std::tuple(-prediction->guesses.front().probability, prediction->index);
  });
  mistakes.resize(std::min(mistakes.size(), most));
  return mistakes;
}

std::string CommandOf(const Evaluation& evaluation, const std::string& folder, const EvalCommand* command,
                      const ReportOptions& requested) {
  const EvaluationSettings& settings = evaluation.settings;
  Command text;
  if (command != nullptr) {
    text.Add("--server", command->client.address);
  } else if (!evaluation.sessions.empty()) {
    text.Add("--server", evaluation.sessions.back().server);
  }
  text.Add("--model", absl::StrCat(evaluation.model.model(), "@", evaluation.model.version()));
  text.Add("--data", evaluation.data);
  text.AddUnless("test", "--split", settings.split);
  text.AddUnless("", "--label-map", command != nullptr ? command->label_map : NeedsLabelMap(evaluation) ? "FILE" : "");
  text.AddUnless("", "--resolution", settings.resolution);
  if (settings.limit > 0) text.Add("--limit", absl::StrCat(settings.limit));
  if (settings.shard.of > 1) text.Add("--shard", ToString(settings.shard));
  text.AddUnless(absl::StrCat(EvalCommand().top_k), "--top-k", absl::StrCat(settings.top_k));
  if (command != nullptr) AddRun(*command, text);
  text.AddUnless(absl::StrCat(ReportOptions().mistakes), "--mistakes", absl::StrCat(requested.mistakes));
  if (requested.attention_distance > 0) text.Add("--attention-distance", absl::StrCat(requested.attention_distance));
  text.Add("--out", folder.empty() ? "DIR" : absl::StrCat(WithoutSlashes(folder), "-again"));
  return text.text();
}

std::string RenderPage(const EvaluationPage& input) {
  const Evaluation& evaluation = input.evaluation;
  HtmlPage page(absl::StrCat("Evaluation of ", NameOf(evaluation.model)),
                absl::StrCat("on the ", evaluation.settings.split, " split of ", evaluation.data));
  AddKeyFigures(input, page);
  AddLedger(input, page);
  AddConfusion(input, page);
  AddClasses(input, page);
  AddMistakes(input, page);
  AddCalibration(input, page);
  AddTimes(input, page);
  AddAttentionDistances(input, page);
  AddProvenance(input, page);
  AddSettings(input, page);
  return page.Print();
}

absl::StatusOr<std::string> WriteReport(const std::string& folder, const Evaluation& evaluation, ImageSource source,
                                        const ReportOptions& requested, const EvalCommand* command) {
  const bool stopped_before = source.Stopping();
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  EvaluationPage page{.evaluation = evaluation, .metrics = metrics};
  page.folder = folder;
  page.command = command;
  page.requested = requested;
  page.mistakes = SurestMistakes(evaluation, static_cast<size_t>(std::max(0, requested.mistakes)));
  source.model = &evaluation.model;
  source.resolution = evaluation.settings.resolution;
  page.looks = LookAt(source, page.mistakes);
  absl::StatusOr<AttentionDistances> distances = absl::UnknownError("not wanted");
  if (requested.attention_distance > 0) {
    std::vector<int64_t> answered;
    for (const Prediction& prediction : evaluation.predictions) {
      if (prediction.outcome == Outcome::kAnswered) answered.push_back(prediction.index);
    }
    distances = source.data == nullptr || source.client == nullptr
                    ? absl::UnavailableError("no server or no data set was available")
                    : MeasureDistances(source, answered, requested.attention_distance);
    if (distances.ok()) {
      page.distances = &*distances;
      RETURN_IF_ERROR(ReplaceFile((std::filesystem::path(folder) / "attention_distance.json").string(),
                                  DistancesAsJson(*distances)));
    } else {
      page.distances_fault = std::string(distances.status().message());
    }
  }
  RETURN_IF_ERROR(WritePage(std::filesystem::path(folder) / "report.html", RenderPage(page)));
  if (stopped_before || !source.Stopping()) return page.distances_fault;
  return absl::CancelledError("stopped before it was complete; the same command again completes it");
}

}  // namespace vitrine
