// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_GRID_CONVOLUTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_GRID_CONVOLUTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Computes a dense 3x3 convolution without bias, channels to channels, over the grid of every image with zero padding.
// Prefix tokens pass through unchanged. x is [T, channels] for T tokens, fp32 or bf16, with any row stride; the result
// is contiguous and has the type of x. weight is [channels, 3, 3, channels]: output channels, rows, columns, input
// channels.
at::Tensor ConvolveGrids(const PackedTokens& x, const at::Tensor& weight, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_GRID_CONVOLUTION_H_
