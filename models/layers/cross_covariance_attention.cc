#include "models/layers/cross_covariance_attention.h"

#include <ATen/TensorOperators.h>

#include "models/layers/channel_products.h"
#include "models/layers/dropout.h"

namespace vitrine {
namespace {

// Smallest length that a channel is divided by.
constexpr double kLeastNorm = 1e-12;

void Capture(const at::Tensor& scores, const at::Tensor& weights, int layer, AttentionTap& tap) {
  for (int image = 0; image < scores.size(0); ++image) {
    if (!tap.Wants(image, AttentionSource::kChannels, layer)) continue;
    tap.Put(
        image, AttentionSource::kChannels, layer,
        {.scores = scores[image].detach().cpu(), .weights = weights[image].detach().cpu(), .queries = {}, .keys = {}});
  }
}

}  // namespace

CrossCovarianceAttention::CrossCovarianceAttention(const v1::XcitConfig& config, Initializer& initializer)
    : heads_(config.heads()),
      qkv_(MakeQkvEmbedding(config, initializer)),
      proj_(config.width(), config.width(), /*bias=*/true, initializer) {
  RegisterParameter("temperature", temperature_, initializer.Ones({heads_, 1, 1}));
  RegisterChild("qkv", *qkv_);
  RegisterChild("proj", proj_);
}

at::Tensor CrossCovarianceAttention::Forward(const PackedTokens& x, const at::Tensor& codes, int layer, int site,
                                             const ForwardContext& context) const {
  const Qkv qkv = qkv_->Forward(x.data, codes, context);
  const auto heads = [&](const at::Tensor& part) { return part.view({-1, heads_, part.size(1) / heads_}); };
  const at::Tensor q = heads(qkv.q), k = heads(qkv.k), v = heads(qkv.v);  // [T, h, d_h]
  // The norms divide the d_h x d_h products instead of the tokens.
  const at::Tensor q_norms = ChannelNorms(q, *x.layout, context).clamp_min(kLeastNorm);  // [images, h, d_h]
  const at::Tensor k_norms = ChannelNorms(k, *x.layout, context).clamp_min(kLeastNorm);
  const at::Tensor products = ChannelProducts(q, k, *x.layout, context);  // [images, h, d_h, d_h]
  const at::Tensor scores = products / q_norms.unsqueeze(3) / k_norms.unsqueeze(2) * temperature_;
  const at::Tensor weights = scores.softmax(-1);
  if (context.tap != nullptr) Capture(scores, weights, layer, *context.tap);
  const at::Tensor kept = Dropout(weights, context.dropout.attention.value_or(0), site + 1, context);
  const at::Tensor mixed = MixChannels(v, kept.transpose(2, 3), *x.layout, context);  // [T, width]
  return Dropout(proj_.Forward(mixed, context.bf16), context.dropout.projection, site, context);
}

}  // namespace vitrine
