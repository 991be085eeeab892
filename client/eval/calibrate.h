// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_CALIBRATE_H_
#define VITRINE_CLIENT_EVAL_CALIBRATE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/evaluation.h"

namespace vitrine {

// Calibration file in an --out folder; `vitrine-repo calibrate` reads it.
inline constexpr char kCalibrationFile[] = "calibration.json";

// Scores of the probabilities at one temperature.
struct ProbabilityScores {
  double nll = 0;    // mean negative log-likelihood
  double brier = 0;  // mean Brier score, 0 to 2
  double ece = 0;    // expected calibration error, 0 to 1
};

// Temperature and threshold fitted to an evaluation, rounded to five decimals. `sure`, `sure_correct` and `calibrated`
// are computed from the rounded temperature and threshold.
struct FittedCalibration {
  double temperature = 1;
  double sure_accuracy = 0;                 // required accuracy of the sure answers
  std::optional<double> unsure_below = {};  // threshold for the top probability; nullopt: none gives sure_accuracy
  int64_t images = 0;                       // number of answered images
  int64_t sure = 0, sure_correct = 0;       // sure answers at unsure_below, and how many of these are right
  ProbabilityScores uncalibrated = {}, calibrated = {};  // at temperature 1, and at `temperature`
};

// Fits the temperature (temperature.h) and then the threshold. An answer is sure if its top probability is at least the
// threshold. The threshold is the lowest multiple of 0.001 at which at least the share `sure_accuracy` of the sure
// answers is right. FAILED_PRECONDITION: fewer than 100 answered images, or an answer without logits
// (EvalCommand::keep_logits); the message states the remedy. Pure.
absl::StatusOr<FittedCalibration> Calibrate(const Evaluation& evaluation, double sure_accuracy);

// Returns OK if a run with `top_k` requests the logits of all classes, and if all answers in `evaluation` have logits.
// FAILED_PRECONDITION: some logits are not requested, or an answer has no logits; the message states the remedy.
absl::Status CheckCalibratable(const Evaluation& evaluation, int top_k);

nlohmann::ordered_json FittedCalibrationJson(const Evaluation& evaluation, const FittedCalibration& fitted);
// Returns text lines for a terminal.
std::string FittedCalibrationText(const FittedCalibration& fitted);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_CALIBRATE_H_
