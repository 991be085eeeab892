// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_H_
#define VITRINE_CLIENT_EVAL_COMPARE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/eval/evaluation.h"
#include "client/eval/likelihood.h"
#include "client/eval/mcnemar.h"
#include "client/eval/metrics.h"
#include "report/data_table.h"

namespace vitrine {

// A picture that both evaluations answered.
struct PredictionPair {
  const Prediction* first = nullptr;
  const Prediction* second = nullptr;
};

// One class of the data, as both did on it.
struct ClassComparison {
  std::string label = {};
  PairedCounts counts = {};
  double first = 0, second = 0;  // recall
  McNemar test = {};
  double holm = 1;  // its p, corrected for the number of classes
};

// Two evaluations of the same pictures, which are matched by name. Refers to both.
struct Comparison {
  Comparison(const Evaluation& a, const Evaluation& b) : first(a), second(b) {}

  const Evaluation& first;
  const Evaluation& second;
  std::vector<PredictionPair> pairs = {};  // what everything below is computed from, by index of the first
  int64_t only_in_first = 0;               // pictures that the other did not evaluate
  int64_t only_in_second = 0;
  int64_t unanswered = 0;  // in both, and not answered by both
  PairedCounts counts = {};
  Interval interval = {};  // of the difference of accuracies, second less first
  McNemar test = {};
  double holm = 1;         // its p, corrected for the number of comparisons that are made
  size_t comparisons = 1;  // that number
  // Of second less first, picture by picture; nullopt where one has no such score.
  std::optional<MeanScore> nll = {}, brier = {};
  EvaluationMetrics first_metrics = {};  // of the pairs alone; throughput of the whole runs
  EvaluationMetrics second_metrics = {};
  std::vector<ClassComparison> classes = {};        // by falling magnitude of the difference
  std::vector<PredictionPair> right_to_wrong = {};  // surest second answers first
  std::vector<PredictionPair> wrong_to_right = {};
};

// INVALID_ARGUMENT: no picture was answered in both, or one has another label in the other.
absl::StatusOr<std::unique_ptr<Comparison>> Compare(const Evaluation& first, const Evaluation& second);

// One evaluation with each of several others; their p-values are corrected for that by Holm's method.
using Comparisons = std::vector<std::unique_ptr<Comparison>>;
// Requires another.
absl::StatusOr<Comparisons> CompareAll(const Evaluation& first, std::span<const Evaluation> others);

// Whether the corrected test shows a difference in accuracy, at 0.05, and one to the second's disadvantage.
bool IsSignificant(const Comparison& comparison);
bool IsWorse(const Comparison& comparison);
// "The second is right more often: ..., p = 3.2e-05 (McNemar, ...)." Of one of several comparisons with its corrected
// p.
std::string VerdictInWords(const Comparison& comparison);
// "kv version 4 at 32x32"
std::string RunTitle(const Evaluation& evaluation);
// "0.0312", "3.2e-05"
std::string PText(double p);
// "9,998 pictures were answered by both; ..."
std::string PicturesInWords(const Comparison& comparison);

// Measures of both, with their difference and, for accuracy, its interval.
DataTable MeasuresOf(const Comparison& comparison);
DataTable ClassesOf(const Comparison& comparison);

// What each of several comparisons came to: a row for each, with its p beside the corrected one.
DataTable SeveralOf(const Comparisons& comparisons);

// What `vitrine eval compare` prints: for people both tables and the verdict; JSON has the flipped pictures too, CSV
// the measures alone. Of several for people and as CSV the table of SeveralOf; JSON has all of each. `fail_if_worse`
// adds to JSON as gates whether each second is not worse.
std::string PrintComparison(const Comparison& comparison, OutputFormat format, bool fail_if_worse = false);
std::string PrintComparisons(const Comparisons& comparisons, OutputFormat format, bool fail_if_worse = false);

// Of a comparison whose second is worse, what --fail-if-worse says.
std::string WorseInWords(const Comparison& comparison);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_H_
