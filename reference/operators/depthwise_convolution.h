// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_DEPTHWISE_CONVOLUTION_H_
#define VITRINE_REFERENCE_OPERATORS_DEPTHWISE_CONVOLUTION_H_

#include "reference/forward_context.h"
#include "reference/packed_tokens.h"

namespace vitrine {

// 3x3 convolution of every channel by itself, weight [channels, 1, 3, 3] and bias [channels], over the grid of every
// image, zeros beyond its border. Always in fp32: it waits for memory, so that bf16 would gain nothing. x is [T,
// channels] without prefix tokens; so is the result.
at::Tensor ConvolveDepthwise(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                             const ForwardContext& context);

// scale GELU(that) + shift, with a scale and a shift per channel.
at::Tensor ConvolveDepthwiseGelu(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const at::Tensor& shift, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_DEPTHWISE_CONVOLUTION_H_
