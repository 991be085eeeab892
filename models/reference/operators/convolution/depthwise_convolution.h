// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_DEPTHWISE_CONVOLUTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_DEPTHWISE_CONVOLUTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Computes a depthwise 3x3 convolution, weight [channels, 1, 3, 3] and bias [channels], over the grid of every image
// with zero padding. Always computes in fp32, because bf16 would not make this memory-bound convolution faster. x and
// the result are [T, channels] for T tokens, without prefix tokens.
at::Tensor ConvolveDepthwise(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                             const ForwardContext& context);

// Returns scale * GELU(ConvolveDepthwise(x)) + shift, with one scale and shift per channel.
at::Tensor ConvolveDepthwiseGelu(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const at::Tensor& shift, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_DEPTHWISE_CONVOLUTION_H_
