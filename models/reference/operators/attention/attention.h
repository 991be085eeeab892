// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_ATTENTION_H_

#include <memory>

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Returns softmax(q k^T / sqrt(d_h)) v of every head over the tokens of every image. qkv is [T, 3, heads, d_h] for T
// tokens, and the result is [T, heads * d_h]; rows after the tokens of the layout are zeros. `layer` is the layer's
// index in the AttentionTap, `site` the dropout site of the attention weights.
at::Tensor AttendWithinImages(const at::Tensor& qkv, const std::shared_ptr<const TokenLayout>& layout, int layer,
                              int site, const ForwardContext& context);

// Returns softmax(scale * q k^T) v for a run of B images with h heads, n queries and m keys: q [B, h, n, d_h], k and v
// [B, h, m, d_h] -> [B, h, n, d_h]. Stores the attention weights [B, h, n, m] only if dropout applies to them; `site`
// is their dropout site.
at::Tensor AttendRun(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                     const TokenLayout::Run& run, int site, const ForwardContext& context);

// Returns true if dropout applies to attention weights in this pass.
inline bool DropsWeights(const ForwardContext& context) {
  return context.training && context.dropout.attention.value_or(0) > 0;
}

// Returns a view of the rows of `x` [T, heads, d_h] that belong to the images of `run`, as [images, heads, tokens,
// d_h].
at::Tensor HeadsOfRun(const at::Tensor& x, const TokenLayout::Run& run);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_ATTENTION_H_
