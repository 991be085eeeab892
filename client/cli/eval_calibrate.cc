// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine eval --calibrate`, and the fitting of the calibration.
#include "absl/strings/str_cat.h"
#include "client/cli/eval.h"
#include "client/cli/options.h"
#include "client/eval/calibrate.h"
#include "common/command_line/number_check.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {

void AddCalibrateFlags(CLI::App& eval, CalibrateFlags& flags) {
  CLI::Option* calibrate =
      eval.add_flag("--calibrate", flags.wanted,
                    "fit a temperature and a confidence threshold to these\nimages; write them to calibration.json");
  eval.add_option("--sure-accuracy", flags.sure_accuracy,
                  "target accuracy of answers above the threshold of --calibrate")
      ->check(NumberFrom(0, 1))
      ->type_name("SHARE")
      ->capture_default_str()
      ->needs(calibrate);
}

absl::StatusOr<FittedCalibration> FitAndWrite(const Evaluation& evaluation, const CalibrateFlags& flags,
                                              const std::string& folder) {
  ASSIGN_OR_RETURN(const FittedCalibration fitted, Calibrate(evaluation, flags.sure_accuracy));
  const std::string text = FittedCalibrationJson(evaluation, fitted).dump(2) + "\n";
  RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/", kCalibrationFile), text));
  return fitted;
}

}  // namespace vitrine
