// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CROSS_COVARIANCE_ATTENTION_H_
#define VITRINE_MODELS_LAYERS_CROSS_COVARIANCE_ATTENTION_H_

#include <memory>

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/layers/qkv_embedding.h"
#include "models/packed_tokens.h"

namespace vitrine {

// v softmax(tau q^^T k^)^T of every head: q, k and v [T, width], their rows perhaps strided, temperature [heads, 1, 1];
// [T, width]. `site` is the place for dropout of the weights.
at::Tensor AttendChannels(const Qkv& qkv, const at::Tensor& temperature,
                          const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                          const ForwardContext& context);

// Cross-covariance attention (XCiT, Eq. 1): per head the channels of q attend to the channels of k.
//   A = softmax(tau q^^T k^), [d_h, d_h], with every channel of q^ and k^ of length 1 over the image's tokens;
//   out = v A^T, then a linear projection.
// tau is one learned temperature per head. Time and memory are linear in the tokens.
// NOTE: the paper divides by tau; its code, which published weights come from, multiplies.
class CrossCovarianceAttention : public Module {
 public:
  CrossCovarianceAttention(const v1::XcitConfig& config, Initializer& initializer);

  // x is [T, width] without prefix tokens, `codes` those of the model for F_SNE; `layer` is the block's number for the
  // tap, `site` and `site` + 1 its places for dropout; attention dropout is that of A.
  at::Tensor Forward(const PackedTokens& x, const at::Tensor& codes, int layer, int site,
                     const ForwardContext& context) const;

 private:
  const int heads_;
  at::Tensor temperature_;             // [heads, 1, 1]
  std::unique_ptr<QkvEmbedding> qkv_;  // width -> q, k, v, each head by head
  Linear proj_;                        // width -> width
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CROSS_COVARIANCE_ATTENTION_H_
