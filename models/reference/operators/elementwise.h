// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ELEMENTWISE_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ELEMENTWISE_H_

#include <ATen/core/Tensor.h>

#include "models/reference/forward_context.h"

namespace vitrine {

// Elementwise functions in fp32 or bf16, with our own derivatives on a CPU, and the library's derivatives on other
// devices.

// Returns the exact GELU (by erf) of x; the result has the type of x.
at::Tensor Gelu(const at::Tensor& x, const ForwardContext& context);

// Returns x + scale * y: adds the result y of a residual branch to the branch's input x. x and y are [T, width] for T
// tokens; x is fp32, y is fp32 or bf16. `scale` is [width]; if it is undefined, y is added unscaled.
at::Tensor AddBranch(const at::Tensor& x, const at::Tensor& y, const at::Tensor& scale, const ForwardContext& context);

// Returns the sums over the rows of x [rows, columns], fp32. Not differentiable.
at::Tensor ColumnSums(const at::Tensor& x);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ELEMENTWISE_H_
