// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_COMPARE_H_
#define VITRINE_CLIENT_EVAL_COMPARE_COMPARE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/eval/evaluation.h"
#include "client/eval/likelihood.h"
#include "client/eval/metrics.h"
#include "common/statistics/mcnemar.h"

namespace vitrine {

// An image that both evaluations answered.
struct PredictionPair {
  const Prediction* first = nullptr;
  const Prediction* second = nullptr;
};

// Results of both evaluations on one class of the data.
struct ClassComparison {
  std::string label = {};
  PairedCounts counts = {};
  double first = 0, second = 0;  // recall of each evaluation
  McNemar test = {};
  double holm = 1;  // p-value of `test`, corrected for the number of classes
};

// Two evaluations of the same images, matched by name. Holds references to both evaluations.
struct Comparison {
  Comparison(const Evaluation& a, const Evaluation& b) : first(a), second(b) {}

  const Evaluation& first;
  const Evaluation& second;
  // in the order of `first`; `counts` and the members after it are computed from the pairs
  std::vector<PredictionPair> pairs = {};
  int64_t only_in_first = 0;  // images that the second evaluation lacks
  int64_t only_in_second = 0;
  int64_t unanswered = 0;  // images with results in both evaluations, but without an answer in at least one
  PairedCounts counts = {};
  Interval interval = {};  // interval of the accuracy difference, second minus first
  McNemar test = {};
  double holm = 1;         // p-value of `test`, corrected for the number of comparisons
  size_t comparisons = 1;  // number of comparisons
  // Mean difference per image, second minus first; nullopt if an evaluation lacks the score.
  std::optional<MeanScore> nll = {}, brier = {};
  EvaluationMetrics first_metrics = {};  // metrics of the pairs only, except throughput, which covers the whole run
  EvaluationMetrics second_metrics = {};
  std::vector<ClassComparison> classes = {};        // by descending magnitude of the difference
  std::vector<PredictionPair> right_to_wrong = {};  // by descending confidence of the second answer
  std::vector<PredictionPair> wrong_to_right = {};
};

// Compares two evaluations. INVALID_ARGUMENT: no image was answered in both, or an image has different labels.
absl::StatusOr<std::unique_ptr<Comparison>> Compare(const Evaluation& first, const Evaluation& second);

// Comparisons of one evaluation with several other evaluations; the p-values are corrected by Holm's method.
using Comparisons = std::vector<std::unique_ptr<Comparison>>;
// Requires at least one other evaluation.
absl::StatusOr<Comparisons> CompareAll(const Evaluation& first, std::span<const Evaluation> others);

// Returns true if comparison.holm is below 0.05, so that the accuracies differ significantly. IsWorse also requires
// that the second evaluation is less accurate.
bool IsSignificant(const Comparison& comparison);
bool IsWorse(const Comparison& comparison);

// Returns the precisions in which the answers of the evaluation were computed, each once, such as "int8" or "fp32 and
// int8"; "" if no image was answered.
std::string PrecisionsOf(const Evaluation& evaluation);
// Returns a title such as "kv version 4 at 32x32 in int8".
std::string RunTitle(const Evaluation& evaluation);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_COMPARE_H_
