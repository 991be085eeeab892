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
#include "report/calibration.h"
#include "report/confusion.h"

namespace vitrine {

// Where every picture went: pictures = answered + unreadable + unlabelled + refused + missing.
struct EvaluationLedger {
  int64_t pictures = 0;
  int64_t answered = 0;
  int64_t unreadable = 0;
  int64_t unlabelled = 0;
  int64_t refused = 0;
  std::map<std::string, int64_t> refused_by_code = {};  // "INVALID_ARGUMENT" -> pictures
  int64_t missing = 0;                                  // not evaluated yet; running again asks them
  int64_t retries = 0;                                  // attempts beyond a picture's first, over all pictures
  bool complete() const { return answered == pictures; }
};

struct ClassMetrics {
  int64_t pictures = 0;                      // answered ones of this class
  int64_t predictions = 0;                   // answers that name it
  double precision = 0, recall = 0, f1 = 0;  // 0 where undefined
};

// Seconds, by nearest rank: the smallest value that at least that share of the values does not exceed.
struct Percentiles {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};
Percentiles PercentilesOf(std::vector<double> values);  // all 0 without values

// All shares are of the answered pictures.
struct EvaluationMetrics {
  EvaluationLedger ledger = {};
  double top1 = 0, top5 = 0;
  int64_t top1_correct = 0, top5_correct = 0;
  // Of the probabilities of all classes; nullopt where an answer did not have them, or there is none.
  std::optional<MeanScore> nll = {}, brier = {};
  // Means over the classes that have pictures.
  double macro_precision = 0, macro_recall = 0, macro_f1 = 0;
  std::vector<ClassMetrics> classes = {};  // one for each class of the model
  Confusion confusion = Confusion(0);
  Calibration calibration = Calibration();
  // "queue", "decode", "compute", "encode", "server", "client"
  std::map<std::string, Percentiles> latency = {};
  double busy_seconds = 0;
  double pictures_per_second = 0;                 // answered ones, over busy_seconds
  std::map<std::string, int64_t> served_by = {};  // "fp32 cpu" -> pictures
};

// Pure; depends on the predictions in their order and on nothing else, so that equal predictions give equal bits.
EvaluationMetrics ComputeMetrics(const Evaluation& evaluation);

// "INVALID_ARGUMENT"
std::string CodeName(absl::StatusCode code);
// "answered", "unreadable", "unlabelled", "refused"
std::string OutcomeName(Outcome outcome);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_METRICS_H_
