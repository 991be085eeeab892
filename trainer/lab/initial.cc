// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/initial.h"

#include <cmath>

namespace vitrine::sequences {

void DrawXavier(const at::Tensor& matrix, int64_t outputs, Initializer& initializer) {
  const int64_t inputs = matrix.size(-1);
  matrix.copy_(initializer.Uniform(matrix.sizes(), std::sqrt(6.0 / static_cast<double>(inputs + outputs))));
}

bool XavierBlocks(v1::SequenceConfig::Initial initial) {
  return initial == v1::SequenceConfig::XAVIER_BLOCKS || initial == v1::SequenceConfig::XAVIER;
}

DenseLayer::DenseLayer(int inputs, int outputs, bool bias, bool xavier, Initializer& initializer)
    : Linear(inputs, outputs, bias, initializer) {
  if (xavier) DrawXavier(weight(), outputs, initializer);
}

at::Tensor InitialTable(const v1::SequenceConfig& config, int64_t rows, Initializer& initializer) {
  switch (config.initial()) {
    case v1::SequenceConfig::XAVIER_BLOCKS:
      return initializer.TruncatedNormal({rows, config.width()}, 1 / std::sqrt(config.width()));
    case v1::SequenceConfig::XAVIER:
      return initializer.Uniform({rows, config.width()}, std::sqrt(6.0 / static_cast<double>(rows + config.width())));
    default:
      return initializer.Normal({rows, config.width()}, 1);
  }
}

}  // namespace vitrine::sequences
