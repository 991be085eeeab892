// SPDX-License-Identifier: Apache-2.0
#include "models/layers/kv_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <optional>
#include <utility>

#include "models/layers/attention.h"
#include "models/layers/dropout.h"
#include "models/layers/token_sequence.h"

namespace vitrine {
namespace {

double ScoreScale(const v1::KvConfig& config) {
  const double width = config.score_scale() == v1::KvConfig::HEAD_WIDTH
                           ? static_cast<double>(config.width()) / config.heads()
                           : config.width();
  return 1 / std::sqrt(width);
}

}  // namespace

KvAttention::KvAttention(const v1::KvConfig& config, Initializer& initializer)
    : kind_(config.attention()),
      heads_(config.heads()),
      alpha_(ScoreScale(config)),
      projection_(config.width(), (kind_ == v1::KvConfig::QKV ? 3 : 2) * config.width(), /*bias=*/false, initializer,
                  Linear::Init::kFanIn),
      output_(config.width(), config.width(), /*bias=*/true, initializer, Linear::Init::kFanIn) {
  if (kind_ == v1::KvConfig::KV_POS) {
    map_pos_.emplace(1 + int64_t{config.grid_rows()} * config.grid_columns(), config.position_channels(), /*heads=*/0,
                     initializer);
    RegisterChild("map_pos", *map_pos_);
  }
  RegisterChild("projection", projection_);
  RegisterChild("output", output_);
}

at::Tensor KvAttention::Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
  const at::Tensor projected =
      projection_.Forward(x.data, context.bf16).view({x.data.size(0), -1, heads_, x.data.size(1) / heads_});
  const at::Tensor keys = projected.select(1, -2);    // [T, h, d_h]
  const at::Tensor values = projected.select(1, -1);  // [T, h, d_h]
  const at::Tensor queries = kind_ == v1::KvConfig::QKV ? projected.select(1, 0) : keys;
  const KeyedAttention attention{alpha_, map_pos_ ? &*map_pos_ : nullptr};
  const at::Tensor mixed = attention.Mix(queries, keys, values, *x.layout, layer, site + 1, context);
  return Dropout(output_.ForwardOperand(mixed, context), context.dropout.projection, site, context);
}

at::Tensor KeyedAttention::Mix(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                               const TokenLayout& layout, int layer, int site, const ForwardContext& context) const {
  const bool fused = keys.is_cpu() && !at::GradMode::is_enabled() && !context.library_only && !DropsWeights(context);
  const double scale = fused && map != nullptr ? alpha * map->Scale() : alpha;
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor q = HeadsOfRun(queries, run);  // [B, h, n, d_h]
    const at::Tensor k = HeadsOfRun(keys, run);
    const at::Tensor v = HeadsOfRun(values, run);
    const std::optional<at::Tensor> offsets =
        fused && map != nullptr ? std::optional(map->KeyOffsets(run.tokens_per_image)) : std::nullopt;
    if (context.tap != nullptr) Capture(q, k, run, layer, *context.tap);
    const auto mix = [&] {
      if (fused) return at::scaled_dot_product_attention(q, k, v, offsets, 0.0, /*is_causal=*/false, scale);
      const float rate = context.dropout.attention.value_or(0);
      return at::matmul(Dropout(Weights(Scores(q, k)), rate, site, context, run.first_image), v);
    };
    const at::Tensor mixed = mix();
    outputs.push_back(mixed.transpose(1, 2).reshape({-1, keys.size(1) * keys.size(2)}));
  }
  return JoinRuns(std::move(outputs), keys.size(0));
}

// alpha q k^T
at::Tensor KeyedAttention::Scores(const at::Tensor& q, const at::Tensor& k) const {
  return at::matmul(q * alpha, k.transpose(-2, -1));  // [..., h, n, n]
}

at::Tensor KeyedAttention::Weights(const at::Tensor& scores) const {
  return (map ? map->Logits(scores) : scores).softmax(-1);
}

// The explicit matrices of the images that the tap asks for.
void KeyedAttention::Capture(const at::Tensor& q, const at::Tensor& k, const TokenLayout::Run& run, int layer,
                             AttentionTap& tap) const {
  const at::NoGradGuard no_grad;
  for (int i = 0; i < run.images; ++i) {
    const int image = run.first_image + i;
    if (!tap.Wants(image, AttentionSource::kTokens, layer)) continue;
    const at::Tensor scores = Scores(q[i], k[i]);  // [h, n, n]
    const at::Tensor symmetric = map ? map->Scaled(scores) : scores;
    tap.Put(image, AttentionSource::kTokens, layer,
            {.scores = symmetric.cpu(), .weights = Weights(scores).cpu(), .queries = {}, .keys = {}});
  }
}

}  // namespace vitrine
