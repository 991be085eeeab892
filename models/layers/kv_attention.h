// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_KV_ATTENTION_H_
#define VITRINE_MODELS_LAYERS_KV_ATTENTION_H_

#include <optional>

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/layers/map_position.h"
#include "models/packed_tokens.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// softmax(alpha q k^T) v of every head over the tokens of every image, or softmax(s alpha q k^T + g) v with a map.
struct KeyedAttention {
  double alpha = 1;
  const MapPosition* map = nullptr;

  // q, k and v [T, heads, d_h], their rows perhaps strided, q perhaps k; [T, heads d_h]. `layer` is the block's number
  // for the tap, `site` the weights' place for dropout.
  at::Tensor Mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout, int layer,
                 int site, const ForwardContext& context) const;

 private:
  at::Tensor Scores(const at::Tensor& q, const at::Tensor& k) const;
  at::Tensor Weights(const at::Tensor& scores) const;
  void Capture(const at::Tensor& q, const at::Tensor& k, const TokenLayout::Run& run, int layer,
               AttentionTap& tap) const;
};

// Attention of the KV transformer's vision classifier, in its three forms (alpha is the score scale):
//   QKV      softmax(alpha q k^T) v
//   KV       softmax(alpha k k^T) v
//   KV_POS   softmax(s alpha k k^T + g) v, one scalar s and a value g(j) per key: see MapPosition
// Projections have no bias, the output has one.
class KvAttention : public Module {
 public:
  KvAttention(const v1::KvConfig& config, Initializer& initializer);

  // x is [T, width]; `layer` is the block's number for the tap, `site` and `site` + 1 its places for
  // dropout.
  at::Tensor Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const;

 private:
  const v1::KvConfig::Attention kind_;
  const int heads_;
  const double alpha_;
  Linear projection_;                   // width -> [q,] k, v, each head by head
  Linear output_;                       // width -> width
  std::optional<MapPosition> map_pos_;  // KV_POS only
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_KV_ATTENTION_H_
