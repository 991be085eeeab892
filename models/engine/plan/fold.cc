// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/fold.h"

#include <cmath>

namespace vitrine::engine {

// Sums in fp64, so that folding does not reduce accuracy.
void LinearWeights::FoldBefore(std::span<const float> scale, std::span<const float> shift) {
  const size_t columns = static_cast<size_t>(inputs());
  for (size_t output = 0; output < bias.size(); ++output) {
    float* const row = weight.data() + output * columns;
    double sum = bias[output];
    for (size_t i = 0; i < columns; ++i) {
      sum += double{row[i]} * shift[i];
      row[i] = static_cast<float>(double{row[i]} * scale[i]);
    }
    bias[output] = static_cast<float>(sum);
  }
}

void LinearWeights::FoldAfter(std::span<const float> scale, std::span<const float> shift) {
  const size_t columns = static_cast<size_t>(inputs());
  for (size_t output = 0; output < bias.size(); ++output) {
    float* const row = weight.data() + output * columns;
    for (size_t i = 0; i < columns; ++i) row[i] *= scale[output];
    bias[output] = static_cast<float>(double{bias[output]} * scale[output] + shift[output]);
  }
}

ColumnAffine AffineOfBatchNorm(std::span<const float> weight, std::span<const float> bias, std::span<const float> mean,
                               std::span<const float> variance, double epsilon) {
  ColumnAffine affine;
  for (size_t c = 0; c < weight.size(); ++c) {
    const double scale = weight[c] / std::sqrt(variance[c] + epsilon);
    affine.scale.push_back(static_cast<float>(scale));
    affine.shift.push_back(static_cast<float>(bias[c] - mean[c] * scale));
  }
  return affine;
}

}  // namespace vitrine::engine
