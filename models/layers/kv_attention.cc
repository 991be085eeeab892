#include "models/layers/kv_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <cmath>

#include "models/layers/attention.h"

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
  }
}

at::Tensor KvAttention::Forward(const PackedTokens& x, int layer, const ForwardContext& context) const {
  const int64_t width = x.data.size(1);
  const at::Tensor projected =
      projection_.Forward(x.data, context.bf16).view({x.data.size(0), -1, heads_, width / heads_});
  const at::Tensor keys = projected.select(1, -2);    // [T, h, d_h]
  const at::Tensor values = projected.select(1, -1);  // [T, h, d_h]
  const at::Tensor queries = kind_ == v1::KvConfig::QKV ? projected.select(1, 0) : keys;
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor q = HeadsOfRun(queries, run) * alpha_;                      // [B, h, n, d_h]
    at::Tensor scores = at::matmul(q, HeadsOfRun(keys, run).transpose(-2, -1));  // [B, h, n, n]
    at::Tensor logits = scores;
    if (kind_ == v1::KvConfig::KV_POS) {
      const at::Tensor encoding = KeyPositions(run.tokens_per_image, map_pos_.size(0)).to(x.data.device());
      const at::Tensor g = encoding.matmul(map_pos_.slice(0, -encoding.size(1)));  // [n], one offset per key
      scores = scores * map_pos_.sum();                                            // s alpha k k^T
      logits = scores + g + 0 * map_pos_bias_;  // the bias cancels; it stays in the graph, with gradient zero
    }
    const at::Tensor weights = logits.softmax(-1);
    if (context.tap != nullptr) {
      for (int i = 0; i < run.images; ++i) {
        const int image = run.first_image + i;
        if (!context.tap->Wants(image, layer)) continue;
        context.tap->Put(image, layer, {scores[i].detach().cpu(), weights[i].detach().cpu()});
      }
    }
    outputs.push_back(at::matmul(weights, HeadsOfRun(values, run)).transpose(1, 2).reshape({-1, width}));
  }
  return output_.Forward(outputs.size() == 1 ? outputs[0] : at::cat(outputs), context.bf16);
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
