// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_KV_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_KV_ATTENTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/operators/attention/map_position.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Attention of the KV transformer's vision classifier, per head and image: softmax(alpha * q k^T) v, or, with a
// position map (MapPosition), softmax(s * alpha * q k^T + g) v. The classifier has three variants: QKV has separate
// queries; KV uses the keys as queries; and KV+Pos is KV with a position map, which gives one scalar s and one value
// g(j) per key j.
struct KeyedAttention {
  double alpha = 1;
  const MapPosition* map = nullptr;

  // Computes the attention. q, k and v are [T, heads, d_h] for T tokens, with any row stride; q may be k. Returns [T,
  // heads * d_h]. `layer` is the layer's index in the AttentionTap, `site` the dropout site of the attention weights.
  at::Tensor Mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout, int layer,
                 int site, const ForwardContext& context) const;

 private:
  at::Tensor Scores(const at::Tensor& q, const at::Tensor& k) const;
  at::Tensor Weights(const at::Tensor& scores) const;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_KV_ATTENTION_H_
