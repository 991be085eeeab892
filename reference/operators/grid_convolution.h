// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_GRID_CONVOLUTION_H_
#define VITRINE_REFERENCE_OPERATORS_GRID_CONVOLUTION_H_

#include "reference/forward_context.h"
#include "reference/packed_tokens.h"

namespace vitrine {

// Full 3x3 convolution without bias, channels to the same number of channels, over the grid of every image, zeros
// beyond its border. Prefix tokens have no place on the grid; they pass through unchanged. x is [T, channels], fp32 or
// bf16, its rows may be strided; the result is contiguous and of its type. weight [channels, 3, 3, channels]: output,
// rows, columns, then input channels, the order in which neighbours are gathered.
at::Tensor ConvolveGrids(const PackedTokens& x, const at::Tensor& weight, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_GRID_CONVOLUTION_H_
