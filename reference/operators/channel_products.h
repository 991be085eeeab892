// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_
#define VITRINE_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_

#include <ATen/core/Tensor.h>

#include "reference/forward_context.h"
#include "reference/packed_tokens.h"

namespace vitrine {

// Sums over the tokens of an image and the mixing of channels that follows from them: what attention over channels
// (XCiT) and linear attention (X-ViT) are made of. Time and memory are linear in the tokens. Differentiable, on any
// device.
//
// Arguments a, b and x are [T, heads, d_h], their rows may be strided; `layout` says which tokens belong to which
// image.

// a^T b of every image and head: [images, heads, d_h, d_h].
at::Tensor ChannelProducts(const at::Tensor& a, const at::Tensor& b, const TokenLayout& layout,
                           const ForwardContext& context);

// The l2 norm of every channel over the tokens of an image: [images, heads, d_h].
at::Tensor ChannelNorms(const at::Tensor& a, const TokenLayout& layout, const ForwardContext& context);

// x times its image's and head's matrix of `matrices` [images, heads, d_h, d_h]: [T, heads d_h].
at::Tensor MixChannels(const at::Tensor& x, const at::Tensor& matrices, const TokenLayout& layout,
                       const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_CHANNEL_PRODUCTS_H_
