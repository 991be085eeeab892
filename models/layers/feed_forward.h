// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_FEED_FORWARD_H_
#define VITRINE_MODELS_LAYERS_FEED_FORWARD_H_

#include "models/forward_context.h"
#include "models/layers/layer_norm.h"
#include "models/layers/linear.h"
#include "models/packed_tokens.h"

namespace vitrine {

// The pre-norm feed-forward block with its residual: x + fc2(GELU(fc1(LN(x)))), exact GELU (by erf).
class FeedForward : public Module {
 public:
  FeedForward(int width, int hidden, double norm_epsilon, Initializer& initializer,
              Linear::Init init = Linear::Init::kTruncatedNormal);

  // [T, width] -> [T, width]. `site` and `site` + 1 are its places for dropout.
  at::Tensor Forward(const PackedTokens& x, int site, const ForwardContext& context) const;

  // fc2(GELU(fc1(x))) of tokens that are normalised already, without the residual: of OperandType(x, context).
  at::Tensor Transform(const at::Tensor& x, int site, const ForwardContext& context) const;

  const LayerNorm& norm() const { return norm_; }
  const Linear& fc1() const { return fc1_; }  // width -> hidden
  const Linear& fc2() const { return fc2_; }  // hidden -> width

 private:
  LayerNorm norm_;
  Linear fc1_;
  Linear fc2_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_FEED_FORWARD_H_
