#ifndef VITRINE_MODELS_LAYERS_KV_ATTENTION_H_
#define VITRINE_MODELS_LAYERS_KV_ATTENTION_H_

#include <optional>

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/packed_tokens.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Attention of the KV transformer's vision classifier, in its three forms (alpha is the score scale):
//   QKV      softmax(alpha q k^T) v
//   KV       softmax(alpha k k^T) v
//   KV_POS   softmax(s alpha k k^T + g) v: what map_pos, a linear layer on [scores + positional tensor], computes. With
//   its
//            weights w, s is their sum and g(j) their part on the channels of the key position times its encoding; the
//            terms that depend on the query row alone, and the bias, cancel in the softmax.
// Projections have no bias, the output has one.
class KvAttention : public Module {
 public:
  KvAttention(const v1::KvConfig& config, Initializer& initializer);

  // x is [T, width]; `layer` is the block's number for the tap.
  at::Tensor Forward(const PackedTokens& x, int layer, const ForwardContext& context) const;

 private:
  // Scale and offset per key [1, 1, 1, n] for the library's fused attention.
  struct Fused {
    double scale = 0;
    std::optional<at::Tensor> offsets;  // KV_POS only
  };

  at::Tensor Scores(const at::Tensor& q, const at::Tensor& k) const;
  at::Tensor Logits(const at::Tensor& scores) const;
  Fused FusedTerms() const;
  void Capture(const at::Tensor& q, const at::Tensor& k, const TokenLayout::Run& run, int layer,
               AttentionTap& tap) const;

  const v1::KvConfig::Attention kind_;
  const int heads_;
  const double alpha_;
  Linear projection_;   // width -> [q,] k, v, each head by head
  Linear output_;       // width -> width
  at::Tensor map_pos_;  // [m], KV_POS only
  // One value, KV_POS only. It cancels; the published models store it.
  at::Tensor map_pos_bias_;
  at::Tensor key_positions_;  // [n, m - q], KV_POS only; not a parameter
};

// The half of the positional tensor that depends on the key column: E(j) cut to its channels, [n, m - q] with
// q = 2 ceil(m / 4). E(t) = [sin(t w_0), cos(t w_0), sin(t w_1), ...], w_k = 10000^(-2k/q).
at::Tensor KeyPositions(int64_t tokens, int64_t channels);

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_KV_ATTENTION_H_
