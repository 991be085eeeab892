#include "models/layers/kv_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "models/layers/attention.h"
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
  RegisterChild("projection", projection_);
  RegisterChild("output", output_);
  if (kind_ == v1::KvConfig::KV_POS) {
    const double bound = 1 / std::sqrt(config.position_channels());
    RegisterParameter("map_pos.weight", map_pos_, initializer.Uniform({config.position_channels()}, bound));
    RegisterParameter("map_pos.bias", map_pos_bias_, initializer.Uniform({1}, bound));
    if (!map_pos_.is_meta()) {
      key_positions_ =
          KeyPositions(1 + int64_t{config.grid_rows()} * config.grid_columns(), config.position_channels());
    }
  }
}

at::Tensor KvAttention::Forward(const PackedTokens& x, int layer, const ForwardContext& context) const {
  const int64_t width = x.data.size(1);
  const at::Tensor projected =
      projection_.Forward(x.data, context.bf16).view({x.data.size(0), -1, heads_, width / heads_});
  const at::Tensor keys = projected.select(1, -2);    // [T, h, d_h]
  const at::Tensor values = projected.select(1, -1);  // [T, h, d_h]
  const at::Tensor queries = kind_ == v1::KvConfig::QKV ? projected.select(1, 0) : keys;
  const bool fused = x.data.is_cpu() && !at::GradMode::is_enabled() && !context.library_only;
  const Fused terms = fused ? FusedTerms() : Fused();
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor q = HeadsOfRun(queries, run);  // [B, h, n, d_h]
    const at::Tensor k = HeadsOfRun(keys, run);
    const at::Tensor v = HeadsOfRun(values, run);
    if (context.tap != nullptr) Capture(q, k, run, layer, *context.tap);
    const at::Tensor mixed =
        fused ? at::scaled_dot_product_attention(q, k, v, terms.offsets, 0.0, /*is_causal=*/false, terms.scale)
              : at::matmul(Logits(Scores(q, k)).softmax(-1), v);
    outputs.push_back(mixed.transpose(1, 2).reshape({-1, width}));
  }
  return output_.Forward(JoinRuns(std::move(outputs), x.data.size(0)), context.bf16);
}

// [alpha or s alpha] q k^T
at::Tensor KvAttention::Scores(const at::Tensor& q, const at::Tensor& k) const {
  const at::Tensor scores = at::matmul(q * alpha_, k.transpose(-2, -1));  // [..., h, n, n]
  return kind_ == v1::KvConfig::KV_POS ? scores * map_pos_.sum() : scores;
}

// What the softmax sees.
at::Tensor KvAttention::Logits(const at::Tensor& scores) const {
  if (kind_ != v1::KvConfig::KV_POS) return scores;
  const at::Tensor encoding = key_positions_.to(scores.device());
  const at::Tensor g = encoding.matmul(map_pos_.slice(0, -encoding.size(1)));  // [n], one offset per key
  return scores + g + 0 * map_pos_bias_;  // the bias cancels; it stays in the graph, with gradient zero
}

KvAttention::Fused KvAttention::FusedTerms() const {
  Fused terms;
  terms.scale = alpha_;
  if (kind_ != v1::KvConfig::KV_POS) return terms;
  const int64_t keys = key_positions_.size(0), channels = key_positions_.size(1);
  const float* weights = map_pos_.const_data_ptr<float>();
  const float* key_weights = weights + map_pos_.size(0) - channels;
  terms.scale *= std::accumulate(weights, weights + map_pos_.size(0), 0.0);
  const at::Tensor offsets = at::empty({1, 1, 1, keys}, at::kFloat);
  for (int64_t key = 0; key < keys; ++key) {
    const float* encoding = key_positions_.const_data_ptr<float>() + key * channels;
    offsets.data_ptr<float>()[key] = std::inner_product(encoding, encoding + channels, key_weights, 0.0f);
  }
  terms.offsets = offsets;
  return terms;
}

// The explicit matrices of the images that the tap asks for.
void KvAttention::Capture(const at::Tensor& q, const at::Tensor& k, const TokenLayout::Run& run, int layer,
                          AttentionTap& tap) const {
  const at::NoGradGuard no_grad;
  for (int i = 0; i < run.images; ++i) {
    const int image = run.first_image + i;
    if (!tap.Wants(image, layer)) continue;
    const at::Tensor scores = Scores(q[i], k[i]);  // [h, n, n]
    tap.Put(image, layer, {scores.cpu(), Logits(scores).softmax(-1).cpu()});
  }
}

at::Tensor KeyPositions(int64_t tokens, int64_t channels) {
  const int64_t q = 2 * ((channels + 3) / 4);
  const int64_t width = channels - q;
  at::Tensor encoding = at::empty({tokens, width}, at::kFloat);
  float* values = encoding.data_ptr<float>();
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const double angle = t * std::pow(10000.0, -2.0 * (c / 2) / q);
      values[t * width + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return encoding;
}

}  // namespace vitrine
