#include "client/eval/page.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/eval/page_sections.h"
#include "client/files.h"

namespace vitrine {
namespace {

// For a POSIX shell.
std::string Quoted(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string("_-./:@,+=").find(c) != std::string::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
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
  if (mistakes.size() > most) mistakes.resize(most);
  return mistakes;
}

std::string CommandOf(const Evaluation& evaluation, const std::string& folder) {
  const EvaluationSettings& settings = evaluation.settings;
  std::string command = "vitrine eval";
  const auto add = [&](const char* flag, const std::string& value) {
    absl::StrAppend(&command, " ", flag, " ", Quoted(value));
  };
  if (!evaluation.sessions.empty()) add("--server", evaluation.sessions.back().server);
  add("--model", absl::StrCat(evaluation.model.model(), "@", evaluation.model.version()));
  add("--data", evaluation.data);
  if (settings.split != "test") add("--split", settings.split);
  if (!settings.resolution.empty()) add("--resolution", settings.resolution);
  if (settings.limit > 0) add("--limit", absl::StrCat(settings.limit));
  if (settings.shard.of > 1) add("--shard", ToString(settings.shard));
  add("--out", folder.empty() ? "DIR" : folder);
  return command;
}

std::string DrawPage(const EvaluationPage& input) {
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

absl::Status WriteReport(const std::string& folder, const Evaluation& evaluation, PictureSource source,
                         const ReportWish& wish) {
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  EvaluationPage page{.evaluation = evaluation, .metrics = metrics};
  page.folder = folder;
  page.mistakes = SurestMistakes(evaluation, static_cast<size_t>(std::max(0, wish.mistakes)));
  source.model = &evaluation.model;
  source.resolution = evaluation.settings.resolution;
  page.looks = LookAt(source, page.mistakes);
  absl::StatusOr<AttentionDistances> distances = absl::UnknownError("not wanted");
  if (wish.attention_distance > 0) {
    std::vector<int64_t> answered;
    for (const Prediction& prediction : evaluation.predictions) {
      if (prediction.outcome == Outcome::kAnswered) answered.push_back(prediction.index);
    }
    distances = source.data == nullptr || source.client == nullptr
                    ? absl::UnavailableError("no server or no data set was there to measure them")
                    : MeasureDistances(source, answered, wish.attention_distance);
    if (distances.ok()) {
      page.distances = &*distances;
      RETURN_IF_ERROR(
          WriteFile((std::filesystem::path(folder) / "attention_distance.json").string(), DistancesAsJson(*distances)));
    } else {
      page.distances_fault = std::string(distances.status().message());
    }
  }
  return WriteFile((std::filesystem::path(folder) / "report.html").string(), DrawPage(page));
}

}  // namespace vitrine
