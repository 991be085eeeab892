// SPDX-License-Identifier: Apache-2.0
#include "client/eval/calibrate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/output/text.h"
#include "client/eval/likelihood.h"
#include "common/charts/calibration.h"
#include "common/charts/html/data_table.h"
#include "common/statistics/proportion.h"
#include "common/statistics/temperature.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFewestImages = 100;
constexpr int kThresholdSteps = 1000;

// Top prediction of an answer at one temperature.
struct TopAnswer {
  double probability = 0;
  bool correct = false;
};

double ToFiveDecimals(double value) {
  return std::round(value * 1e5) / 1e5;
}

bool IsScored(const Prediction& p) {
  return p.outcome == Outcome::kAnswered && !p.guesses.empty() && p.label >= 0;
}

absl::Status NoLogits(const Prediction& p) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the answer to ", p.name, " has no logits, like those of a run without --calibrate; --restart requests them"));
}

absl::StatusOr<std::vector<LabelledLogits>> AnswersOf(const Evaluation& evaluation) {
  std::vector<LabelledLogits> answers;
  for (const Prediction& p : evaluation.predictions) {
    if (!IsScored(p)) continue;
    if (p.logits.empty()) return NoLogits(p);
    answers.push_back({.logits = p.logits, .label = p.label});
  }
  if (static_cast<int64_t>(answers.size()) >= kFewestImages) return answers;
  return absl::FailedPreconditionError(absl::StrCat("a calibration needs ", kFewestImages, " answered images, but ",
                                                    answers.size(), " were answered; give more images"));
}

// Returns the top prediction of each image. If logits are equal, the class with the lowest index is the top prediction,
// as in the server's answers.
std::vector<TopAnswer> TopAnswers(const std::vector<LabelledLogits>& images, double temperature) {
  std::vector<TopAnswer> tops;
  for (const LabelledLogits& image : images) {
    const auto top = std::max_element(image.logits.begin(), image.logits.end()) - image.logits.begin();
    tops.push_back({Tempered(image.logits, temperature)[static_cast<size_t>(top)], top == image.label});
  }
  return tops;
}

ProbabilityScores Score(const std::vector<LabelledLogits>& images, double temperature) {
  ProbabilityScores scores;
  for (const LabelledLogits& image : images) {
    const std::vector<double> probabilities = Tempered(image.logits, temperature);
    const double right = probabilities[static_cast<size_t>(image.label)];
    double squares = 0;
    for (const double probability : probabilities) squares += probability * probability;
    const Likelihood likelihood{.right = static_cast<float>(right), .squares = static_cast<float>(squares)};
    scores.nll += NegativeLogLikelihood(likelihood);
    scores.brier += BrierScore(likelihood);
  }
  scores.nll /= static_cast<double>(images.size());
  scores.brier /= static_cast<double>(images.size());
  class Calibration calibration;
  for (const TopAnswer& top : TopAnswers(images, temperature)) calibration.Add(top.probability, top.correct);
  scores.ece = calibration.ExpectedError();
  return scores;
}

// Sets unsure_below, sure and sure_correct. Skips thresholds at which no answer is sure.
void ChooseThreshold(const std::vector<TopAnswer>& tops, FittedCalibration& fitted) {
  for (int step = 0; step <= kThresholdSteps; ++step) {
    const double threshold = static_cast<double>(step) / kThresholdSteps;
    int64_t sure = 0, correct = 0;
    for (const TopAnswer& top : tops) {
      if (top.probability < threshold) continue;
      ++sure;
      correct += top.correct ? 1 : 0;
    }
    if (sure == 0) return;
    if (static_cast<double>(correct) < fitted.sure_accuracy * static_cast<double>(sure)) continue;
    fitted.unsure_below = threshold;
    fitted.sure = sure;
    fitted.sure_correct = correct;
    return;
  }
}

// Describes the data: "cifar10 test, shard 1/5, at 32x32". The text is stored in a manifest, which other machines read,
// so it has no local path.
std::string DataWords(const Evaluation& evaluation) {
  const EvaluationSettings& s = evaluation.settings;
  const size_t colon = evaluation.data.find(':');
  const std::filesystem::path path = std::filesystem::path(evaluation.data.substr(colon + 1)).lexically_normal();
  const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  std::string words = absl::StrCat(name.empty() ? evaluation.data.substr(0, colon) : name.string(), " ", s.split);
  if (s.shard.of > 1) absl::StrAppend(&words, ", shard ", ToString(s.shard));
  if (s.limit > 0) absl::StrAppend(&words, ", ", WithinLimit(s), " of its images");
  if (!s.resolution.empty()) absl::StrAppend(&words, ", at ", s.resolution);
  return words;
}

Json ScoresOf(const ProbabilityScores& scores) {
  return {{"nll", ToFiveDecimals(scores.nll)},
          {"brier", ToFiveDecimals(scores.brier)},
          {"ece", ToFiveDecimals(scores.ece)}};
}

}  // namespace

absl::StatusOr<FittedCalibration> Calibrate(const Evaluation& evaluation, double sure_accuracy) {
  ASSIGN_OR_RETURN(const std::vector<LabelledLogits> answers, AnswersOf(evaluation));
  FittedCalibration fitted{.temperature = ToFiveDecimals(FitTemperature(answers)),
                           .sure_accuracy = sure_accuracy,
                           .images = static_cast<int64_t>(answers.size())};
  fitted.uncalibrated = Score(answers, 1);
  fitted.calibrated = Score(answers, fitted.temperature);
  ChooseThreshold(TopAnswers(answers, fitted.temperature), fitted);
  return fitted;
}

absl::Status CheckCalibratable(const Evaluation& evaluation, int top_k) {
  const int classes = evaluation.model.labels_size();
  if (classes > kMostClassesRequested && top_k < classes) {
    return absl::FailedPreconditionError(absl::StrCat("--calibrate needs the logits of every class; with more than ",
                                                      WithSeparators(kMostClassesRequested), " classes (",
                                                      evaluation.model.model(), " has ", WithSeparators(classes),
                                                      ") give --top-k ", classes, " as well"));
  }
  for (const Prediction& p : evaluation.predictions) {
    if (IsScored(p) && p.logits.empty()) return NoLogits(p);
  }
  return absl::OkStatus();
}

Json FittedCalibrationJson(const Evaluation& evaluation, const FittedCalibration& fitted) {
  Json json = {{"format", 1},
               {"model", evaluation.model.model()},
               {"version", evaluation.model.version()},
               {"weights_sha256", evaluation.model.weights_sha256()},
               {"data", DataWords(evaluation)},
               {"pictures", fitted.images},
               {"temperature", fitted.temperature},
               {"sure_accuracy", fitted.sure_accuracy},
               {"unsure_below", fitted.unsure_below.has_value() ? Json(*fitted.unsure_below) : Json()},
               {"uncalibrated", ScoresOf(fitted.uncalibrated)},
               {"calibrated", ScoresOf(fitted.calibrated)}};
  if (fitted.unsure_below.has_value()) {
    const Interval interval = WilsonInterval(fitted.sure_correct, fitted.sure);
    const auto share = [](int64_t part, int64_t whole) {
      return ToFiveDecimals(static_cast<double>(part) / static_cast<double>(whole));
    };
    json["sure"] = {{"pictures", fitted.sure},
                    {"coverage", share(fitted.sure, fitted.images)},
                    {"accuracy", share(fitted.sure_correct, fitted.sure)},
                    {"accuracy_interval", {ToFiveDecimals(interval.low), ToFiveDecimals(interval.high)}}};
  }
  return json;
}

std::string FittedCalibrationText(const FittedCalibration& fitted) {
  const auto scores = [](const ProbabilityScores& s) {
    return absl::StrFormat("NLL %.4f   Brier %.4f   calibration error %.2f %%", s.nll, s.brier, 100 * s.ece);
  };
  std::string text =
      absl::StrFormat("calibrated  temperature %.4f on %s images\n  before    %s\n  after     %s\n", fitted.temperature,
                      WithSeparators(fitted.images), scores(fitted.uncalibrated), scores(fitted.calibrated));
  if (!fitted.unsure_below.has_value()) {
    return absl::StrCat(
        text, absl::StrFormat("  no threshold makes %.4g %% of the sure answers right; give a lower --sure-accuracy\n",
                              100 * fitted.sure_accuracy));
  }
  const double coverage = static_cast<double>(fitted.sure) / static_cast<double>(fitted.images);
  const double accuracy = static_cast<double>(fitted.sure_correct) / static_cast<double>(fitted.sure);
  absl::StrAppendFormat(&text, "  unsure    below %.1f %%: %.2f %% of the answers are sure, %.2f %% of these right\n",
                        100 * *fitted.unsure_below, 100 * coverage, 100 * accuracy);
  return text;
}

}  // namespace vitrine
