// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

v1::ModelConfig Null(v1::ModelConfig config) {
  config.mutable_null();
  return config;
}

}  // namespace

std::vector<ZooRow> NullRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"null", Null(ImageNet(224)), 0, "the service without a model"},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
