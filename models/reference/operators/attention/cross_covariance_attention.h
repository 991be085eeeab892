// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CROSS_COVARIANCE_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CROSS_COVARIANCE_ATTENTION_H_

#include <memory>

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Queries, keys and values, [T, width] each for T tokens, with any row stride.
struct Qkv {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

// Computes cross-covariance attention (XCiT, Eq. 1): in each head, channels of q attend to channels of k.
//   A = softmax(tau * q^^T k^), [d_h, d_h], where every channel of q^ and k^ has length 1 over the image's tokens;
//   the result is v A^T, [T, width].
// tau, `temperature` [heads, 1, 1], is learned. Time and memory are linear in the number of tokens. `layer` is the
// layer's index in the AttentionTap, `site` the dropout site of A.
// NOTE: the paper divides by tau; its code, the source of the published weights, multiplies by tau.
at::Tensor AttendChannels(const Qkv& qkv, const at::Tensor& temperature,
                          const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                          const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CROSS_COVARIANCE_ATTENTION_H_
