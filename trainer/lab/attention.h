// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_ATTENTION_H_
#define VITRINE_TRAINER_LAB_ATTENTION_H_

#include <optional>

#include "models/reference/forward_context.h"
#include "models/reference/operators/attention/map_position.h"
#include "trainer/lab/initial.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine::sequences {

// Place of a layer or block in the model: the layer's index for AttentionTap, and the number of the first dropout site.
// Each block has kSites consecutive site numbers.
struct Place {
  static constexpr int kSites = 8;
  int layer = 0;
  int site = 0;
};

// Computes alpha * q k^T, [..., n, m], for q [..., n, d_h] and k [..., m, d_h].
at::Tensor AttentionScores(const at::Tensor& q, const at::Tensor& k, double alpha);

// Parameters of softmax(logits + mask) v, except queries, keys and values.
struct Mixing {
  double alpha = 1;
  const MapPosition* map_pos = nullptr;  // KV+Pos only
  // true: attention weights have dropout; its rate is the projection's rate unless a rate for attention is set
  bool drop_weights = false;
};

// Computes attention of h heads of width d_h: q [B, h, n, d_h], k and v [B, h, m, d_h] -> [B n, h d_h]. `mask`
// broadcasts to [B, h, n, m] and is added after map_pos: 0 if the query may attend to the key, otherwise -inf. An
// undefined `mask` hides no key.
at::Tensor MixValues(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                     const Mixing& mixing, Place place, const ForwardContext& context);

// Self-attention of a sequence, in the KV transformer's three forms (alpha is the score scale):
//   QKV      softmax(alpha * q k^T) v
//   KV       softmax(alpha * k k^T) v
//   KV_POS   softmax(s * alpha * k k^T + g) v, one scalar s and a value g(j) per key (see MapPosition)
class SequenceAttention : public Module {
 public:
  SequenceAttention(const v1::SequenceConfig& config, Initializer& initializer);

  // x [B, n, width] -> [B, n, width]. See MixValues for `mask`.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& mask, Place place, const ForwardContext& context) const;

 private:
  const bool queries_;
  const int heads_;
  const double alpha_;
  const bool drop_weights_;
  // width -> [q,] k, v of each head. A head's q, k and v are adjacent, as in the published weights of synthetic tasks.
  Linear projection_;
  Linear output_;                            // width -> width
  std::optional<MapPositionLayer> map_pos_;  // set for KV_POS only
};

// Cross-attention of a decoder: softmax(alpha * q k^T) v with q from the target, k and v from the source. KV variants
// of the model also have queries here.
class SourceAttention : public Module {
 public:
  SourceAttention(const v1::SequenceConfig& config, Initializer& initializer);

  // x [B, t, width], source [B, n, width] -> [B, t, width]. See MixValues for `mask`.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& source, const at::Tensor& mask, Place place,
                     const ForwardContext& context) const;

 private:
  const int heads_;
  const double alpha_;
  const bool drop_weights_;
  Linear query_;      // width -> width
  Linear key_value_;  // width -> k, v of each head
  Linear output_;     // width -> width
};

// Applies a linear layer to x [B, n, inputs] -> [B, n, outputs].
at::Tensor OnElements(const Linear& layer, const at::Tensor& x, const ForwardContext& context);

bool Drops(const v1::SequenceConfig& config, v1::SequenceConfig::Dropping place);

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_ATTENTION_H_
