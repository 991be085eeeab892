// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_X_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_X_ATTENTION_H_

#include "models/program/operators.h"
#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// X-ViT's attention without a softmax, normalised by XNorm. Time and memory are linear in the number of tokens. Per
// head, with d_h channels,
//   S = K^T V, [d_h, d_h];  q^_i = gq * q_i / |q_i|;  S^ = gs * S / |S| over one axis;  O = Q^ S^.
// With Norm::kKeys, S is normalised over the features of K. The product Q^ S^ sums over the same features, so every
// output is a cosine times gq * gs. gq and gs are learned, one number per head; 1e-6 is added to norms. With
// Norm::kNone, q^_i = gq * q_i and S^ = gs * S.
//
// An AttentionTap stores the two factors of a matrix M, `queries` and `keys`: M_ij is the dot product of queries_i and
// keys_j, and determines how much V_j adds to O_i. With Norm::kKeys, O_id = (gs / s_d) * sum_j M_ij * V_jd, where s_d
// is the norm of column d of S; otherwise O = M V.
struct LinearAttention {
  at::Tensor query_scale;    // gq, [heads]
  at::Tensor context_scale;  // gs, [heads]
  program::AttendLinearly::Norm norm = program::AttendLinearly::Norm::kKeys;

  // Uses all T tokens as queries: q, k, v [T, heads, d_h]; returns [T, heads * d_h]. `layer` is the layer's index in
  // the AttentionTap. `site` is the dropout site of S^, because there are no attention weights to drop.
  at::Tensor OfTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                      const ForwardContext& context) const;
  // Uses only class tokens as queries: q [images, heads, d_h]; returns [images, heads * d_h].
  at::Tensor OfClassTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout,
                           int layer, int site, const ForwardContext& context) const;

 private:
  // S, and the norms by which S is divided. With Norm::kNone, the norms are 1.
  struct Sums {
    at::Tensor products;  // S, [images, h, d_h, d_h]
    at::Tensor norms;     // |S| + 1e-6 over the axis, [images, h, 1, d_h] or [images, h, d_h, 1]
  };
  at::Tensor NormalizeQueries(const at::Tensor& q) const;
  Sums SumsOf(const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout, const ForwardContext& context) const;
  at::Tensor NormalizeSums(const Sums& sums, int site, const ForwardContext& context) const;
  AttentionTap::Matrices Factors(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& norms) const;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_X_ATTENTION_H_
