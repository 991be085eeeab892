// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_LAYER_NORM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include "models/reference/forward_context.h"

namespace vitrine {

// Returns (x - mean) / sqrt(variance + epsilon) * weight + bias for every row of x [T, width], in the type `type`.
// weight and bias are [width]. On a CPU, our own kernels compute the result and the gradients.
at::Tensor NormalizeLayer(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                          const ForwardContext& context, at::ScalarType type = at::kFloat);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_LAYER_NORM_H_
