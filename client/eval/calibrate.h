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

// Of a calibration, in an --out folder: what `vitrine-repo calibrate` reads.
inline constexpr char kCalibrationFile[] = "calibration.json";

// How probable the right classes were at one temperature.
struct ProbabilityScores {
  double nll = 0;    // mean negative log-likelihood
  double brier = 0;  // mean Brier score, 0 to 2
  double ece = 0;    // expected calibration error, a share
};

// A temperature and a threshold that fit an evaluation. Rounded to five decimals, and the rest is of the rounded ones.
struct FittedCalibration {
  double temperature = 1;
  double sure_accuracy = 0;                 // wanted of the sure answers
  std::optional<double> unsure_below = {};  // of the top probability; nullopt: none is so that the sure are so right
  int64_t pictures = 0;                     // answered ones
  int64_t sure = 0, sure_correct = 0;       // at that threshold
  ProbabilityScores uncalibrated = {}, calibrated = {};  // at temperature 1, and at this one
};

// Fits the temperature (temperature.h), then takes the lowest threshold, in steps of 0.001, at which at least
// `sure_accuracy` of the answers with so large a top probability are right: of those thresholds it leaves the most
// answers sure. FAILED_PRECONDITION: fewer than 100 answered pictures, or one whose answer was kept without its logits
// (EvalCommand::keep_logits), with the way out. Pure.
absl::StatusOr<FittedCalibration> Calibrate(const Evaluation& evaluation, double sure_accuracy);

// OK if the logits of every answer of this model can be asked for, and `evaluation` holds no answer without them.
// FAILED_PRECONDITION names the way out.
absl::Status CheckCalibratable(const Evaluation& evaluation, int top_k);

nlohmann::ordered_json FittedCalibrationJson(const Evaluation& evaluation, const FittedCalibration& fitted);
// Lines for a terminal.
std::string FittedCalibrationText(const FittedCalibration& fitted);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_CALIBRATE_H_
