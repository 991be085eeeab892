// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_DEPTHWISE_CONVOLUTION_H_
#define VITRINE_MODELS_LAYERS_DEPTHWISE_CONVOLUTION_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"
#include "models/packed_tokens.h"

namespace vitrine {

// As DepthwiseConvolution's Forward and ForwardGelu, with weight [channels, 1, 3, 3] and bias [channels].
at::Tensor ConvolveDepthwise(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                             const ForwardContext& context);
at::Tensor ConvolveDepthwiseGelu(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const at::Tensor& shift, const ForwardContext& context);

// 3x3 convolution of every channel by itself, with bias, over the grid of every image, zeros beyond its border. Always
// in fp32: it waits for memory, so that bf16 would gain nothing.
class DepthwiseConvolution : public Module {
 public:
  DepthwiseConvolution(int channels, Initializer& initializer);

  // x is [T, channels] without prefix tokens; so is the result.
  at::Tensor Forward(const PackedTokens& x, const ForwardContext& context) const;

  // scale GELU(Forward(x)) + shift, with a scale and a shift per channel.
  at::Tensor ForwardGelu(const PackedTokens& x, const at::Tensor& scale, const at::Tensor& shift,
                         const ForwardContext& context) const;

 private:
  at::Tensor weight_;  // [channels, 1, 3, 3]
  at::Tensor bias_;    // [channels]
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_DEPTHWISE_CONVOLUTION_H_
