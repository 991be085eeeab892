// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_INPUT_WORDS_H_
#define VITRINE_COMMON_DRAWING_INPUT_WORDS_H_

#include <string>

#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Describes the model's input: "28x28 grey" or "36 to 144 tokens of 4x4 RGB".
std::string InputDescription(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_INPUT_WORDS_H_
