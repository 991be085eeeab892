// SPDX-License-Identifier: Apache-2.0
#include "tests/models/config_text.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace vitrine::testing {

v1::ModelConfig Config(const std::string& text) {
  v1::ModelConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text, &config)) {
    ADD_FAILURE() << "not a ModelConfig: " << text;
    std::abort();
  }
  return config;
}

}  // namespace vitrine::testing
