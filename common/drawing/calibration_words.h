// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_CALIBRATION_WORDS_H_
#define VITRINE_COMMON_DRAWING_CALIBRATION_WORDS_H_

#include <string>

#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Returns for example "temperature 0.83; unsure below 61.2 %; 95 % of the sure answers were right; on 2000 images,
// cifar10 test". The description of the data comes last, unchanged.
std::string CalibrationInWords(const v1::Calibration& calibration);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_CALIBRATION_WORDS_H_
