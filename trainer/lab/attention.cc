// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/dropout.h"

namespace vitrine::sequences {
namespace {

using v1::SequenceConfig;

double ScoreScale(const SequenceConfig& config) {
  const bool head = config.score_scale() == v1::KvConfig::HEAD_WIDTH;
  return 1 / std::sqrt(head ? config.width() / config.heads() : config.width());
}

// Initializes the matrices [width, width] that are stacked in `layer`. With XAVIER_ATTENTION the stack is initialized
// as one large matrix; otherwise each matrix is initialized separately. FAN_IN keeps the layer's initial values.
void DrawAttention(const SequenceConfig& config, const Linear& layer, Initializer& initializer) {
  if (config.initial() == SequenceConfig::FAN_IN) return;
  const bool together = config.initial() == SequenceConfig::XAVIER_ATTENTION;
  DrawXavier(layer.weight(), together ? layer.weight().size(0) : config.width(), initializer);
  if (together && layer.bias().defined()) layer.bias().zero_();
}

// Splits [B, n, parts * width] into `parts` tensors [B, heads, n, d_h].
std::vector<at::Tensor> SplitHeads(const at::Tensor& x, int heads, int parts) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2).chunk(parts, -1);
}

}  // namespace

at::Tensor AttentionScores(const at::Tensor& q, const at::Tensor& k, double alpha) {
  return at::matmul(q * alpha, k.transpose(-2, -1));
}

at::Tensor MixValues(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                     const Mixing& mixing, Place place, const ForwardContext& context) {
  const at::Tensor scores = AttentionScores(q, k, mixing.alpha);  // [B, h, n, m]
  at::Tensor logits = mixing.map_pos != nullptr ? mixing.map_pos->Logits(scores) : scores;
  if (mask.defined()) logits = logits + mask;
  at::Tensor weights = logits.softmax(-1);
  Capture(context.tap, AttentionSource::kTokens, place.layer, 0, static_cast<int>(q.size(0)), [&](int i) {
    return Explicit(mixing.map_pos != nullptr ? mixing.map_pos->Scaled(scores[i]) : scores[i], weights[i]);
  });
  const float rate = context.dropout.attention.value_or(mixing.drop_weights ? context.dropout.projection : 0);
  weights = Dropout(weights, rate, place.site, context);
  return at::matmul(weights, v).transpose(1, 2).reshape({q.size(0) * q.size(2), -1});
}

SequenceAttention::SequenceAttention(const SequenceConfig& config, Initializer& initializer)
    : queries_(config.attention() == v1::KvConfig::QKV),
      heads_(config.heads()),
      alpha_(ScoreScale(config)),
      drop_weights_(Drops(config, SequenceConfig::WEIGHTS)),
      projection_(config.width(), (queries_ ? 3 : 2) * config.width(), config.projection_bias(), initializer),
      output_(config.width(), config.width(), config.output_bias(), initializer) {
  RegisterChild("projection", projection_);
  RegisterChild("output", output_);
  DrawAttention(config, projection_, initializer);
  DrawAttention(config, output_, initializer);
  if (config.attention() != v1::KvConfig::KV_POS) return;
  map_pos_.emplace(config.max_length(), config.position_channels(), config.map_pos_per_head() ? heads_ : 0,
                   initializer);
  RegisterChild("map_pos", *map_pos_);
  if (config.initial() != SequenceConfig::FAN_IN) DrawXavier(map_pos_->map().weight, 1, initializer);
  if (config.initial() == SequenceConfig::XAVIER_ATTENTION) map_pos_->map().bias.zero_();
}

at::Tensor SequenceAttention::Forward(const at::Tensor& x, const at::Tensor& mask, Place place,
                                      const ForwardContext& context) const {
  const std::vector<at::Tensor> parts = SplitHeads(OnElements(projection_, x, context), heads_, queries_ ? 3 : 2);
  const at::Tensor& values = parts.back();
  const at::Tensor& keys = parts[parts.size() - 2];
  std::optional<MapPosition> map;
  if (map_pos_) map = map_pos_->map();
  const Mixing mixing{.alpha = alpha_, .map_pos = map ? &*map : nullptr, .drop_weights = drop_weights_};
  // NOTE: without queries, parts[0] holds the keys, which gives k k^T.
  const at::Tensor mixed = MixValues(parts[0], keys, values, mask, mixing, place, context);
  return output_.Forward(mixed, context.bf16).view(x.sizes());
}

SourceAttention::SourceAttention(const SequenceConfig& config, Initializer& initializer)
    : heads_(config.heads()),
      alpha_(ScoreScale(config)),
      drop_weights_(Drops(config, SequenceConfig::WEIGHTS)),
      query_(config.width(), config.width(), config.projection_bias(), initializer),
      key_value_(config.width(), 2 * config.width(), config.projection_bias(), initializer),
      output_(config.width(), config.width(), config.output_bias(), initializer) {
  RegisterChild("query", query_);
  RegisterChild("key_value", key_value_);
  RegisterChild("output", output_);
  for (const Linear* layer : {&query_, &key_value_, &output_}) DrawAttention(config, *layer, initializer);
}

at::Tensor SourceAttention::Forward(const at::Tensor& x, const at::Tensor& source, const at::Tensor& mask, Place place,
                                    const ForwardContext& context) const {
  const at::Tensor queries = SplitHeads(OnElements(query_, x, context), heads_, 1)[0];
  const std::vector<at::Tensor> parts = SplitHeads(OnElements(key_value_, source, context), heads_, 2);
  const Mixing mixing{.alpha = alpha_, .map_pos = nullptr, .drop_weights = drop_weights_};
  const at::Tensor mixed = MixValues(queries, parts[0], parts[1], mask, mixing, place, context);
  return output_.Forward(mixed, context.bf16).view(x.sizes());
}

at::Tensor OnElements(const Linear& layer, const at::Tensor& x, const ForwardContext& context) {
  return layer.Forward(x.reshape({-1, x.size(-1)}), context.bf16).view({x.size(0), x.size(1), -1});
}

bool Drops(const SequenceConfig& config, SequenceConfig::Dropping place) {
  return std::count(config.dropping().begin(), config.dropping().end(), place) > 0;
}

}  // namespace vitrine::sequences
