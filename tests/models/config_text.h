// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_CONFIG_TEXT_H_
#define VITRINE_TESTS_MODELS_CONFIG_TEXT_H_

#include <string>

#include "vitrine/v1/model.pb.h"

namespace vitrine::testing {

// Parses a ModelConfig in text form. A syntax error fails and stops the test.
v1::ModelConfig Config(const std::string& text);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_CONFIG_TEXT_H_
