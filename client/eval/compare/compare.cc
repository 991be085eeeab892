// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/text.h"
#include "client/eval/page/page_sections.h"
#include "common/statistics/holm.h"
#include "common/statistics/significance.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string DataLabel(const Evaluation& evaluation, const Prediction& prediction) {
  const auto index = static_cast<size_t>(prediction.data_label);
  return prediction.data_label >= 0 && index < evaluation.data_labels.size()
             ? evaluation.data_labels[index]
             : absl::StrCat("class ", prediction.data_label);
}

bool Answered(const Prediction& prediction) {
  return prediction.outcome == Outcome::kAnswered && !prediction.guesses.empty();
}

void Count(const PredictionPair& pair, PairedCounts& counts) {
  const bool first = pair.first->correct(), second = pair.second->correct();
  ++(first ? (second ? counts.both : counts.only_first) : (second ? counts.only_second : counts.neither));
}

absl::Status Match(Comparison& comparison) {
  std::unordered_map<std::string, const Prediction*> seconds;
  for (const Prediction& prediction : comparison.second.predictions) seconds.emplace(prediction.name, &prediction);
  int64_t matched = 0;
  for (const Prediction& first : comparison.first.predictions) {
    const auto found = seconds.find(first.name);
    if (found == seconds.end()) {
      ++comparison.only_in_first;
      continue;
    }
    ++matched;
    const Prediction& second = *found->second;
    const std::string label = DataLabel(comparison.first, first), other = DataLabel(comparison.second, second);
    if (label != other) {
      return absl::InvalidArgumentError(absl::StrCat(first.name, " is labelled \"", label, "\" in the first and \"",
                                                     other,
                                                     "\" in the second evaluation; the two are not of one data set"));
    }
    if (!Answered(first) || !Answered(second)) {
      ++comparison.unanswered;
      continue;
    }
    comparison.pairs.push_back({&first, &second});
  }
  comparison.only_in_second = static_cast<int64_t>(comparison.second.predictions.size()) - matched;
  if (!comparison.pairs.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      matched == 0 ? "the two evaluations have no image in common (images are matched by name); compare evaluations "
                     "of one data set"
                   : "no image was answered in both evaluations; there is nothing to compare");
}

// Returns the metrics of the evaluation `side`, computed from the pairs only.
EvaluationMetrics MetricsOf(const Evaluation& whole, const std::vector<PredictionPair>& pairs,
                            const Prediction* PredictionPair::*side) {
  Evaluation part = {.model = whole.model};
  for (const PredictionPair& pair : pairs) part.predictions.push_back(*(pair.*side));
  part.expected = static_cast<int64_t>(part.predictions.size());
  EvaluationMetrics metrics = ComputeMetrics(part);
  const EvaluationMetrics of_whole = ComputeMetrics(whole);
  metrics.busy_seconds = of_whole.busy_seconds;
  metrics.images_per_second = of_whole.images_per_second;
  return metrics;
}

void CompareClasses(Comparison& comparison) {
  std::map<std::string, PairedCounts> counts;
  for (const PredictionPair& pair : comparison.pairs) Count(pair, counts[DataLabel(comparison.first, *pair.first)]);
  for (const auto& [label, of] : counts) {
    const double all = static_cast<double>(of.all());
    comparison.classes.push_back({.label = label,
                                  .counts = of,
                                  .first = static_cast<double>(of.both + of.only_first) / all,
                                  .second = static_cast<double>(of.both + of.only_second) / all,
                                  .test = TestMcNemar(of)});
  }
  std::vector<double> p;
  for (const ClassComparison& of : comparison.classes) p.push_back(of.test.p);
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < adjusted.size(); ++i) comparison.classes[i].holm = adjusted[i];
  std::ranges::stable_sort(comparison.classes, {},
                           [](const ClassComparison& of) { return -std::abs(of.second - of.first); });
}

// Computes the differences, per image, of the scores that use the probabilities of all classes.
void CompareDistributions(Comparison& comparison) {
  std::vector<double> nll, brier;
  for (const PredictionPair& pair : comparison.pairs) {
    const std::optional<Likelihood>&first = pair.first->likelihood, &second = pair.second->likelihood;
    if (!first.has_value() || !second.has_value()) return;
    nll.push_back(NegativeLogLikelihood(*second) - NegativeLogLikelihood(*first));
    brier.push_back(BrierScore(*second) - BrierScore(*first));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  comparison.nll = MeanOf(nll, -kInfinity, kInfinity);
  comparison.brier = MeanOf(brier, -2, 2);
}

void CollectFlips(Comparison& comparison) {
  for (const PredictionPair& pair : comparison.pairs) {
    if (pair.first->correct() == pair.second->correct()) continue;
    (pair.first->correct() ? comparison.right_to_wrong : comparison.wrong_to_right).push_back(pair);
  }
  for (auto* flips : {&comparison.right_to_wrong, &comparison.wrong_to_right}) {
    std::ranges::sort(*flips, {}, [](const PredictionPair& pair) {
      return std::tuple(-pair.second->guesses.front().probability, pair.first->index);
    });
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Comparison>> Compare(const Evaluation& first, const Evaluation& second) {
  auto comparison = std::make_unique<Comparison>(first, second);
  RETURN_IF_ERROR(Match(*comparison));
  for (const PredictionPair& pair : comparison->pairs) Count(pair, comparison->counts);
  comparison->interval = PairedDifferenceInterval(comparison->counts);
  comparison->test = TestMcNemar(comparison->counts);
  comparison->holm = comparison->test.p;
  CompareDistributions(*comparison);
  comparison->first_metrics = MetricsOf(first, comparison->pairs, &PredictionPair::first);
  comparison->second_metrics = MetricsOf(second, comparison->pairs, &PredictionPair::second);
  CompareClasses(*comparison);
  CollectFlips(*comparison);
  return comparison;
}

absl::StatusOr<Comparisons> CompareAll(const Evaluation& first, std::span<const Evaluation> others) {
  Comparisons all;
  std::vector<double> p;
  for (const Evaluation& other : others) {
    absl::StatusOr<std::unique_ptr<Comparison>> comparison = Compare(first, other);
    if (!comparison.ok() && others.size() > 1) {
      return absl::Status(comparison.status().code(),
                          absl::StrCat("with the first, number ", all.size() + 2, " (", RunTitle(other),
                                       "): ", comparison.status().message()));
    }
    RETURN_IF_ERROR(comparison.status());
    p.push_back((*comparison)->test.p);
    all.push_back(*std::move(comparison));
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i]->holm = adjusted[i];
    all[i]->comparisons = all.size();
  }
  return all;
}

bool IsSignificant(const Comparison& comparison) {
  return comparison.holm < kSignificantP;
}

bool IsWorse(const Comparison& comparison) {
  return IsSignificant(comparison) && PairedDifference(comparison.counts) < 0;
}

std::string PrecisionsOf(const Evaluation& evaluation) {
  std::set<std::string> precisions;
  for (const Prediction& prediction : evaluation.predictions) {
    const std::string& by = prediction.served_by;
    if (!by.empty()) precisions.insert(by.substr(0, by.find(' ')));
  }
  return Printable(absl::StrJoin(precisions, " and "));
}

std::string RunTitle(const Evaluation& evaluation) {
  const std::string& resolution = evaluation.settings.resolution;
  const std::string precisions = PrecisionsOf(evaluation);
  return absl::StrCat(NameOf(evaluation.model), resolution.empty() ? "" : absl::StrCat(" at ", resolution),
                      precisions.empty() ? "" : absl::StrCat(" in ", precisions));
}

}  // namespace vitrine
