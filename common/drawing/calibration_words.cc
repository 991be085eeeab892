// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/calibration_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {

std::string CalibrationInWords(const v1::Calibration& calibration) {
  const std::string sure = calibration.unsure_below() > 0
                               ? absl::StrFormat("unsure below %.4g %%; %.4g %% of the sure answers were right",
                                                 100 * calibration.unsure_below(), 100 * calibration.sure_accuracy())
                               : std::string("never unsure");
  return absl::StrFormat("temperature %.4g; %s; on %d images, %s", calibration.temperature(), sure,
                         calibration.pictures(), calibration.data());
}

}  // namespace vitrine
