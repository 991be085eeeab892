// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_

#include <ATen/core/Tensor.h>

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Operations of channel attention (XCiT) and linear attention (X-ViT): sums over the tokens of an image, and products
// of channels with these sums. Time and memory are linear in the number of tokens. Differentiable, on any device.
//
// Arguments a, b and x are [T, heads, d_h] for T tokens, with any row stride; `layout` maps tokens to images.

// Returns a^T b of every image and head: [images, heads, d_h, d_h].
at::Tensor ChannelProducts(const at::Tensor& a, const at::Tensor& b, const TokenLayout& layout,
                           const ForwardContext& context);

// Returns the l2 norm of every channel over the tokens of an image: [images, heads, d_h].
at::Tensor ChannelNorms(const at::Tensor& a, const TokenLayout& layout, const ForwardContext& context);

// Returns x times the matrix of its image and head in `matrices` [images, heads, d_h, d_h]: [T, heads * d_h].
at::Tensor MixChannels(const at::Tensor& x, const at::Tensor& matrices, const TokenLayout& layout,
                       const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_
