// SPDX-License-Identifier: Apache-2.0
// Page sections about answers: key figures, ledger, classes, confusion, mistakes, calibration.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/calibration.h"
#include "common/charts/confusion.h"
#include "common/charts/histogram.h"
#include "common/charts/html/data_table.h"
#include "common/statistics/proportion.h"

namespace vitrine {
namespace {

constexpr size_t kMostNamed = 200;    // listed images without a result
constexpr size_t kMostClasses = 100;  // maximum rows of the table of classes
constexpr size_t kWeakClasses = 30;   // rows shown if there are more than kMostClasses
constexpr int kPairs = 15;

// Returns the classes that occur as labels or answers.
std::vector<int> OccurringClasses(const Confusion& confusion) {
  std::vector<int> classes;
  for (int i = 0; i < confusion.classes(); ++i) {
    if (confusion.OfLabel(i) > 0 || confusion.OfAnswer(i) > 0) classes.push_back(i);
  }
  return classes;
}

std::string DrawOccurring(const Evaluation& evaluation, const std::vector<int>& classes) {
  Confusion confusion(static_cast<int>(classes.size()));
  std::map<int, int> place;
  std::vector<std::string> names;
  for (const int i : classes) {
    place[i] = static_cast<int>(names.size());
    names.push_back(LabelOf(evaluation.model, i));
  }
  for (const Prediction& prediction : evaluation.predictions) {
    if (prediction.outcome != Outcome::kAnswered || prediction.guesses.empty()) continue;
    const auto label = place.find(prediction.label), answer = place.find(prediction.guesses.front().index);
    if (label != place.end() && answer != place.end()) confusion.Add(label->second, answer->second);
  }
  return DrawConfusion(confusion, names);
}

std::string Reason(const Prediction& prediction) {
  if (!prediction.reason.empty()) return prediction.reason;
  return prediction.outcome == Outcome::kUnlabelled ? "its label is none of the model's classes" : "";
}

void AddUnanswered(const Evaluation& evaluation, HtmlPage& page) {
  HtmlTable table{.columns = {{"image"}, {"what"}, {"code"}, {"why"}}};
  size_t more = 0;
  for (const Prediction& prediction : evaluation.predictions) {
    if (prediction.outcome == Outcome::kAnswered) continue;
    if (table.rows.size() == kMostNamed) {
      ++more;
      continue;
    }
    table.rows.push_back({prediction.name, OutcomeName(prediction.outcome),
                          prediction.code == absl::StatusCode::kOk ? "" : CodeName(prediction.code),
                          Reason(prediction)});
  }
  if (table.rows.empty()) return;
  page.Paragraph("Not evaluated:");
  page.Table(table);
  if (more > 0)
    page.Paragraph(
        absl::StrCat("And ", WithSeparators(static_cast<int64_t>(more)), " more; predictions.csv names all of them."));
}

std::string IntervalText(const std::optional<Interval>& interval) {
  return interval.has_value() ? absl::StrFormat("%.4f to %.4f", interval->low, interval->high) : "-";
}

// Adds the scores that use the probabilities of all classes and, for comparison, the scores of a model that gives all
// classes equal probabilities.
void AddProperScores(const EvaluationMetrics& metrics, HtmlPage& page) {
  if (!metrics.nll.has_value() || !metrics.brier.has_value()) {
    return page.Paragraph(
        "No log-likelihood and no Brier score: they need the probabilities of all classes, but not every answer "
        "has them.");
  }
  const double classes = std::max(1, metrics.confusion.classes());
  HtmlTable table{.columns = {{"score"}, {"mean", true}, {"95 % interval", true}, {"equal probabilities", true}}};
  table.rows.push_back({"negative log-likelihood, nats", absl::StrFormat("%.4f", metrics.nll->mean),
                        IntervalText(metrics.nll->interval), absl::StrFormat("%.4f", std::log(classes))});
  table.rows.push_back({"Brier score, 0 to 2", absl::StrFormat("%.4f", metrics.brier->mean),
                        IntervalText(metrics.brier->interval), absl::StrFormat("%.4f", 1 - 1 / classes)});
  page.Table(table);
  page.Paragraph(
      "Lower is better. Both scores use all probabilities of an answer, not only the best guess; the last column "
      "is the score of equal probabilities for all classes.");
}

}  // namespace

std::string CalibrationInWords(const Calibration& calibration) {
  const double over = calibration.Overconfidence();
  return absl::StrFormat(
      "Expected calibration error %.2f %% over %d bins; on average the confidence is %.2f points %s the accuracy.",
      100 * calibration.ExpectedError(), calibration.bins().size(), 100 * std::abs(over),
      over >= 0 ? "above" : "below");
}

std::string DrawConfidences(std::span<const Prediction> predictions, const std::string& title) {
  HistogramFigure figure{.title = title,
                         .x_axis = "confidence in %",
                         .y_axis = "answers",
                         .bins = 20,
                         .low = 0,
                         .high = 100,
                         .stacked = true,
                         .series = {{.name = "wrong", .colour = 1}, {.name = "right", .colour = 0}}};
  for (const Prediction& prediction : predictions) {
    if (prediction.outcome != Outcome::kAnswered || prediction.guesses.empty()) continue;
    figure.series[prediction.correct() ? 1 : 0].values.push_back(100.0 * prediction.guesses.front().probability);
  }
  return DrawHistogram(figure);
}

std::vector<std::string> AnswerInWords(const v1::ModelVersion& model, const Prediction& prediction) {
  const Guess& best = prediction.guesses.front();
  std::string right = absl::StrCat("label: ", LabelOf(model, prediction.label));
  const auto guessed = std::ranges::find(prediction.guesses, prediction.label, &Guess::index);
  if (guessed == prediction.guesses.end()) {
    absl::StrAppend(&right, ", not among the best ", prediction.guesses.size());
  } else if (!prediction.correct()) {
    absl::StrAppendFormat(&right, ", %.2g %%", 100 * guessed->probability);
  }
  return {absl::StrFormat("%s, %.1f %% sure", LabelOf(model, best.index), 100 * best.probability), right,
          prediction.name};
}

void AddKeyFigures(const EvaluationPage& input, HtmlPage& page) {
  const EvaluationMetrics& metrics = input.metrics;
  const int64_t answered = metrics.ledger.answered;
  std::vector<KeyFigure> figures;
  if (answered > 0) {
    figures.push_back({"top-1 accuracy", PercentText(metrics.top1), IntervalInWords(metrics.top1_correct, answered)});
    if (HasTop5(metrics)) {
      figures.push_back({"top-5 accuracy", PercentText(metrics.top5), IntervalInWords(metrics.top5_correct, answered)});
    }
    figures.push_back({"macro F1", PercentText(metrics.macro_f1), "mean over classes"});
    if (metrics.nll.has_value()) {
      const std::optional<Interval>& interval = metrics.nll->interval;
      figures.push_back({"negative log-likelihood", absl::StrFormat("%.4f", metrics.nll->mean),
                         interval ? absl::StrCat("95 % interval ", IntervalText(interval)) : "nats"});
    }
    figures.push_back({"calibration error", PercentText(metrics.calibration.ExpectedError()), "expected, 15 bins"});
  }
  figures.push_back(
      {"answered", WithSeparators(answered), absl::StrCat("of ", WithSeparators(metrics.ledger.images), " images")});
  figures.push_back({"throughput", absl::StrFormat("%.4g / s", metrics.images_per_second),
                     absl::StrCat("answered images, over ", DurationText(metrics.busy_seconds))});
  if (const auto client = metrics.latency.find("client"); answered > 0 && client != metrics.latency.end()) {
    figures.push_back({"median latency", DurationText(client->second.p50), "as the client saw it"});
    figures.push_back({"p99 latency", DurationText(client->second.p99), "as the client saw it"});
  }
  page.KeyFigures(figures);
}

void AddLedger(const EvaluationPage& input, HtmlPage& page) {
  const EvaluationLedger& ledger = input.metrics.ledger;
  page.Section("Ledger", ledger.complete() ? "Every image was answered."
                                           : "Accuracy and calibration are of the answered images only.");
  HtmlTable table{.columns = {{""}, {"images", true}, {""}}};
  const auto add = [&](const std::string& what, int64_t count, const std::string& note) {
    table.rows.push_back({what, WithSeparators(count), note});
  };
  add("answered", ledger.answered, "");
  if (ledger.unreadable > 0) add("unreadable", ledger.unreadable, "could not be read or are no images; never sent");
  if (ledger.unlabelled > 0) add("unlabelled", ledger.unlabelled, "the model has no such class; never sent");
  for (const auto& [code, count] : ledger.refused_by_code) add(absl::StrCat("refused, ", code), count, "");
  if (ledger.missing > 0) add("missing", ledger.missing, "not evaluated yet; the same command continues");
  add("in all", ledger.images,
      ledger.retries > 0 ? absl::StrCat("sent again ", WithSeparators(ledger.retries), " times") : "");
  page.Table(table);
  AddUnanswered(input.evaluation, page);
}

void AddClasses(const EvaluationPage& input, HtmlPage& page) {
  const EvaluationMetrics& metrics = input.metrics;
  std::vector<size_t> order;
  for (size_t i = 0; i < metrics.classes.size(); ++i) {
    if (metrics.classes[i].images > 0) order.push_back(i);
  }
  if (order.empty()) return;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return metrics.classes[i].f1; });
  const size_t all = order.size();
  if (all > kMostClasses) order.resize(kWeakClasses);
  page.Section("Classes", all > kMostClasses
                              ? absl::StrCat("The ", order.size(), " of ", all, " classes with the lowest F1.")
                              : "Classes with the lowest F1 first.");
  HtmlTable table{
      .columns = {{"class"}, {"recall", true}, {"precision", true}, {"F1", true}, {"images", true}, {"answers", true}}};
  for (const size_t i : order) {
    const ClassMetrics& of = metrics.classes[i];
    table.rows.push_back({LabelOf(input.evaluation.model, static_cast<int32_t>(i)), PercentText(of.recall),
                          of.predictions == 0 ? "-" : PercentText(of.precision), PercentText(of.f1),
                          WithSeparators(of.images), WithSeparators(of.predictions)});
  }
  table.rows.push_back({"mean over classes", PercentText(metrics.macro_recall), PercentText(metrics.macro_precision),
                        PercentText(metrics.macro_f1), WithSeparators(metrics.ledger.answered), ""});
  page.Table(table);
}

void AddConfusion(const EvaluationPage& input, HtmlPage& page) {
  const Confusion& confusion = input.metrics.confusion;
  const std::vector<int> classes = OccurringClasses(confusion);
  if (classes.empty()) return;
  page.Section("Confusion");
  if (classes.size() <= kMostDrawnClasses) page.Charts({DrawOccurring(input.evaluation, classes)});
  const std::vector<Confusion::Pair> pairs = confusion.MostConfused(kPairs);
  if (pairs.empty()) return page.Paragraph("No answer is wrong.");
  page.Paragraph("Most frequent mistakes:");
  HtmlTable table{.columns = {{"label"}, {"taken for"}, {"times", true}, {"share of the label's images", true}}};
  for (const Confusion::Pair& pair : pairs) {
    const double share = static_cast<double>(pair.count) / static_cast<double>(confusion.OfLabel(pair.label));
    table.rows.push_back({LabelOf(input.evaluation.model, pair.label), LabelOf(input.evaluation.model, pair.answer),
                          WithSeparators(pair.count), PercentText(share)});
  }
  page.Table(table);
}

void AddMistakes(const EvaluationPage& input, HtmlPage& page) {
  if (input.metrics.ledger.answered == 0) return;
  std::string note = input.mistakes.empty() ? "None." : "Wrong answers, most confident first.";
  if (!input.looks.attention.empty()) absl::StrAppend(&note, " Beside each image ", input.looks.attention, ".");
  page.Section("Most confident mistakes", note);
  if (!input.mistakes.empty() && !input.looks.fault.empty()) page.Paragraph(input.looks.fault);
  std::vector<ImageCard> cards;
  for (size_t i = 0; i < input.mistakes.size(); ++i) {
    ImageCard& card = cards.emplace_back();
    if (i < input.looks.images.size()) card.images = input.looks.images[i];
    card.lines = AnswerInWords(input.evaluation.model, *input.mistakes[i]);
  }
  if (!cards.empty()) page.Cards(cards);
}

void AddCalibration(const EvaluationPage& input, HtmlPage& page) {
  const Calibration& calibration = input.metrics.calibration;
  if (calibration.answers() == 0) return;
  page.Section("Calibration", CalibrationInWords(calibration));
  AddProperScores(input.metrics, page);
  page.Charts({DrawReliability(calibration), DrawConfidences(input.evaluation.predictions, "Confidence")});
}

}  // namespace vitrine
