// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/cpu/fold.h"

namespace vitrine::cpu {

View<const float> LinearWeights::matrix() const {
  const auto outputs = static_cast<int64_t>(bias.size());
  const int64_t inputs = static_cast<int64_t>(weight.size()) / outputs;
  return {weight.data(), outputs, inputs, inputs};
}

LinearWeights FoldInput(View<const float> weight, const float* bias, const float* scale, const float* shift) {
  LinearWeights folded;
  folded.weight.reserve(weight.rows * weight.columns);
  for (int64_t i = 0; i < weight.rows; ++i) {
    double sum = bias == nullptr ? 0 : bias[i];
    for (int64_t j = 0; j < weight.columns; ++j) {
      const double w = weight.Row(i)[j];
      folded.weight.push_back(static_cast<float>(w * scale[j]));
      sum += w * shift[j];
    }
    folded.bias.push_back(static_cast<float>(sum));
  }
  return folded;
}

}  // namespace vitrine::cpu
