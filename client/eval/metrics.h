// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_METRICS_H_
#define VITRINE_CLIENT_EVAL_METRICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/eval/evaluation.h"
#include "client/eval/likelihood.h"
#include "common/charts/calibration.h"
#include "common/charts/confusion.h"

namespace vitrine {

// Number of images per outcome: images = answered + unreadable + unlabelled + refused + missing.
struct EvaluationLedger {
  int64_t images = 0;
  int64_t answered = 0;
  int64_t unreadable = 0;
  int64_t unlabelled = 0;
  int64_t refused = 0;
  std::map<std::string, int64_t> refused_by_code = {};  // "INVALID_ARGUMENT" -> images
  int64_t missing = 0;                                  // not evaluated yet; the next run sends them
  int64_t retries = 0;  // repeated attempts over all images: an image sent three times adds 2
  bool complete() const { return answered == images; }
};

struct ClassMetrics {
  int64_t images = 0;                        // answered images of this class
  int64_t predictions = 0;                   // answers whose best guess is this class
  double precision = 0, recall = 0, f1 = 0;  // 0 if undefined
};

// Percentiles in seconds by nearest rank: p90 is the smallest value v such that at least 90 % of
// the values are at most v.
struct Percentiles {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};
Percentiles PercentilesOf(std::vector<double> values);  // all members are 0 if `values` is empty

// Metrics of an evaluation. All metrics except `ledger` and `busy_seconds` cover only the answered images.
struct EvaluationMetrics {
  EvaluationLedger ledger = {};
  double top1 = 0, top5 = 0;
  int64_t top1_correct = 0, top5_correct = 0;
  // Scores that use the probabilities of all classes; nullopt if there is no answer, or if an answer lacks some
  // probabilities.
  std::optional<MeanScore> nll = {}, brier = {};
  // Means over the classes that at least one answered image has as its label; each class has the same weight.
  double macro_precision = 0, macro_recall = 0, macro_f1 = 0;
  std::vector<ClassMetrics> classes = {};  // one for each class of the model
  Confusion confusion = Confusion(0);
  Calibration calibration = Calibration();
  // per stage: "queue", "decode", "compute", "encode", "server", "client"
  std::map<std::string, Percentiles> latency = {};
  double busy_seconds = 0;
  double images_per_second = 0;                   // answered images, divided by busy_seconds
  std::map<std::string, int64_t> served_by = {};  // "fp32 cpu" -> images
};

// Returns true if top5 is meaningful: with up to five classes, top-5 is always right.
inline bool HasTop5(const EvaluationMetrics& metrics) {
  return metrics.confusion.classes() > 5;
}

// Computes the metrics. Pure: equal evaluations give bitwise equal results.
EvaluationMetrics ComputeMetrics(const Evaluation& evaluation);

// Returns the name of a code, such as "INVALID_ARGUMENT".
std::string CodeName(absl::StatusCode code);
// Returns "answered", "unreadable", "unlabelled" or "refused".
std::string OutcomeName(Outcome outcome);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_METRICS_H_
