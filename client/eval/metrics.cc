// SPDX-License-Identifier: Apache-2.0
#include "client/eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "client/eval/busy_time.h"

namespace vitrine {
namespace {

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

EvaluationLedger CountImages(const Evaluation& evaluation) {
  EvaluationLedger ledger{.images = evaluation.expected};
  for (const Prediction& p : evaluation.predictions) {
    ledger.retries += std::max(0, p.attempts - 1);
    switch (p.outcome) {
      case Outcome::kAnswered:
        ++ledger.answered;
        break;
      case Outcome::kUnreadable:
        ++ledger.unreadable;
        break;
      case Outcome::kUnlabelled:
        ++ledger.unlabelled;
        break;
      case Outcome::kRefused:
        ++ledger.refused;
        ++ledger.refused_by_code[CodeName(p.code)];
        break;
    }
  }
  ledger.missing = ledger.images - static_cast<int64_t>(evaluation.predictions.size());
  return ledger;
}

std::vector<ClassMetrics> ByClass(const Confusion& confusion) {
  std::vector<ClassMetrics> classes(static_cast<size_t>(confusion.classes()));
  for (int c = 0; c < confusion.classes(); ++c) {
    ClassMetrics& metrics = classes[static_cast<size_t>(c)];
    metrics.images = confusion.OfLabel(c);
    metrics.predictions = confusion.OfAnswer(c);
    metrics.precision = confusion.Precision(c);
    metrics.recall = confusion.Recall(c);
    const double sum = metrics.precision + metrics.recall;
    metrics.f1 = sum == 0 ? 0 : 2 * metrics.precision * metrics.recall / sum;
  }
  return classes;
}

void AverageOverClasses(EvaluationMetrics& metrics) {
  int64_t present = 0;
  for (const ClassMetrics& c : metrics.classes) {
    if (c.images == 0) continue;
    ++present;
    metrics.macro_precision += c.precision;
    metrics.macro_recall += c.recall;
    metrics.macro_f1 += c.f1;
  }
  if (present == 0) return;
  for (double* mean : {&metrics.macro_precision, &metrics.macro_recall, &metrics.macro_f1}) {
    *mean /= static_cast<double>(present);
  }
}

// Computes the scores that use the probabilities of all classes, if every answer has all probabilities.
void ScoreDistributions(const Evaluation& evaluation, EvaluationMetrics& metrics) {
  std::vector<double> nll, brier;
  for (const Prediction& p : evaluation.predictions) {
    if (p.outcome != Outcome::kAnswered || p.guesses.empty() || p.label < 0) continue;
    if (!p.likelihood.has_value()) return;
    nll.push_back(NegativeLogLikelihood(*p.likelihood));
    brier.push_back(BrierScore(*p.likelihood));
  }
  if (nll.empty()) return;
  metrics.nll = MeanOf(nll, 0, std::numeric_limits<double>::infinity());
  metrics.brier = MeanOf(brier, 0, 2);
}

}  // namespace

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
  };
  double sum = 0;
  for (const double value : values) sum += value;
  return {.mean = sum / static_cast<double>(values.size()),
          .p50 = at(0.5),
          .p90 = at(0.9),
          .p95 = at(0.95),
          .p99 = at(0.99),
          .p999 = at(0.999),
          .max = values.back()};
}

EvaluationMetrics ComputeMetrics(const Evaluation& evaluation) {
  EvaluationMetrics metrics{.ledger = CountImages(evaluation), .confusion = Confusion(evaluation.model.labels_size())};
  std::map<std::string, std::vector<double>> seconds;
  for (const Prediction& p : evaluation.predictions) {
    if (p.outcome != Outcome::kAnswered || p.guesses.empty() || p.label < 0) continue;
    metrics.top1_correct += p.correct() ? 1 : 0;
    metrics.top5_correct += p.InTop(5) ? 1 : 0;
    metrics.confusion.Add(p.label, p.guesses.front().index);
    metrics.calibration.Add(std::clamp(static_cast<double>(p.guesses.front().probability), 0.0, 1.0), p.correct());
    ++metrics.served_by[p.served_by];
    seconds["queue"].push_back(p.seconds.queue);
    seconds["decode"].push_back(p.seconds.decode);
    seconds["compute"].push_back(p.seconds.compute);
    seconds["encode"].push_back(p.seconds.encode);
    seconds["server"].push_back(p.seconds.server);
    seconds["client"].push_back(p.seconds.client);
  }
  metrics.top1 = Share(metrics.top1_correct, metrics.ledger.answered);
  metrics.top5 = Share(metrics.top5_correct, metrics.ledger.answered);
  ScoreDistributions(evaluation, metrics);
  metrics.classes = ByClass(metrics.confusion);
  AverageOverClasses(metrics);
  for (auto& [stage, values] : seconds) metrics.latency[stage] = PercentilesOf(std::move(values));
  metrics.busy_seconds = BusyTime(evaluation.sessions).Length();
  const auto answered = static_cast<double>(metrics.ledger.answered);
  metrics.images_per_second = metrics.busy_seconds > 0 ? answered / metrics.busy_seconds : 0;
  return metrics;
}

std::string CodeName(absl::StatusCode code) {
  return absl::StatusCodeToString(code);
}

std::string OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAnswered:
      return "answered";
    case Outcome::kUnreadable:
      return "unreadable";
    case Outcome::kUnlabelled:
      return "unlabelled";
    case Outcome::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace vitrine
