// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_FOLD_H_
#define VITRINE_MODELS_KERNELS_CPU_FOLD_H_

#include <vector>

#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

// A linear layer that is being prepared, before it is packed.
struct LinearWeights {
  std::vector<float> weight;  // [outputs, inputs]
  std::vector<float> bias;    // [outputs]
  View<const float> matrix() const;
};

// W (scale * z + shift) + b = W' z + b': the scale and shift of a normalisation folded into the layer that reads it.
// `scale` and `shift` have as many values as `weight` [outputs, inputs] has columns; `bias` is null for zeros.
// Products and sums are taken in double and rounded once.
LinearWeights FoldInput(View<const float> weight, const float* bias, const float* scale, const float* shift);

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_FOLD_H_
