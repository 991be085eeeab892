// SPDX-License-Identifier: Apache-2.0
#include "models/layers/x_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include "models/layers/channel_products.h"
#include "models/layers/dropout.h"
#include "models/layers/gemm.h"

namespace vitrine {
namespace {

constexpr double kNormEpsilon = 1e-6;
constexpr int64_t kFeaturesOfK = 2;  // axes of S
constexpr int64_t kFeaturesOfV = 3;

}  // namespace

XAttention::XAttention(const v1::XVitConfig& config, Initializer& initializer)
    : heads_(config.heads()),
      attention_width_(config.attention_width()),
      norm_axis_(config.norm_axis() == v1::XVitConfig::LAST ? kFeaturesOfV : kFeaturesOfK),
      qkv_(config.width(), 3 * attention_width_, /*bias=*/true, initializer),
      proj_(attention_width_, config.width(), /*bias=*/true, initializer) {
  RegisterParameter("query_scale", query_scale_, initializer.Ones({heads_}));
  RegisterParameter("context_scale", context_scale_, initializer.Ones({heads_}));
  RegisterChild("qkv", qkv_);
  RegisterChild("proj", proj_);
}

at::Tensor XAttention::Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
  const at::Tensor qkv = Project(x.data, 0, 3, context);  // [T, 3, h, d_h]
  const at::Tensor q = NormalizeQueries(qkv.select(1, 0)), k = qkv.select(1, 1), v = qkv.select(1, 2);
  const Sums sums = SumsOf(k, v, *x.layout, context);
  for (int image = 0; context.tap != nullptr && image < x.layout->images(); ++image) {
    if (!context.tap->Wants(image, AttentionSource::kTokens, layer)) continue;
    const int64_t first = x.layout->offset(image), count = x.layout->tokens(image);
    context.tap->Put(image, AttentionSource::kTokens, layer,
                     Factors(q.narrow(0, first, count), k.narrow(0, first, count), sums.norms[image]));
  }
  const at::Tensor mixed = MixChannels(q, NormalizeSums(sums, site + 1, context), *x.layout, context);  // [T, e]
  return Dropout(proj_.Forward(mixed, context.bf16), context.dropout.projection, site, context);
}

at::Tensor XAttention::ForClassTokens(const at::Tensor& class_tokens, const PackedTokens& x, int layer, int site,
                                      const ForwardContext& context) const {
  const at::Tensor q = NormalizeQueries(Project(class_tokens, 0, 1, context).select(1, 0));  // [images, h, d_h]
  const at::Tensor kv = Project(x.data, 1, 2, context);                                      // [T, 2, h, d_h]
  const at::Tensor k = kv.select(1, 0), v = kv.select(1, 1);
  const Sums sums = SumsOf(k, v, *x.layout, context);
  for (int image = 0; context.tap != nullptr && image < x.layout->images(); ++image) {
    if (!context.tap->Wants(image, AttentionSource::kClassQuery, layer)) continue;
    context.tap->Put(image, AttentionSource::kClassQuery, layer,
                     Factors(q.narrow(0, image, 1), k.narrow(0, x.layout->offset(image), x.layout->tokens(image)),
                             sums.norms[image]));
  }
  const at::Tensor mixed = at::matmul(q.unsqueeze(2), NormalizeSums(sums, site + 1, context));  // [images, h, 1, d_h]
  const at::Tensor projected = proj_.Forward(mixed.view({-1, attention_width_}), context.bf16);
  return Dropout(projected, context.dropout.projection, site, context);
}

// Some of q, k and v: [T, parts, h, d_h].
at::Tensor XAttention::Project(const at::Tensor& x, int first_part, int parts, const ForwardContext& context) const {
  const int64_t first = first_part * attention_width_, count = parts * attention_width_;
  return AffineMap(x, qkv_.weight().narrow(0, first, count), qkv_.bias().narrow(0, first, count), context.bf16)
      .view({-1, parts, heads_, attention_width_ / heads_});
}

// XN over the features of every token and head.
at::Tensor XAttention::NormalizeQueries(const at::Tensor& q) const {
  const at::Tensor norms = at::linalg_vector_norm(q, 2, 2, /*keepdim=*/true) + kNormEpsilon;  // [T, h, 1]
  return q * (query_scale_.view({-1, 1}) / norms);
}

XAttention::Sums XAttention::SumsOf(const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout,
                                    const ForwardContext& context) const {
  const at::Tensor products = ChannelProducts(k, v, layout, context);
  return {products, at::linalg_vector_norm(products, 2, norm_axis_, /*keepdim=*/true) + kNormEpsilon};
}

at::Tensor XAttention::NormalizeSums(const Sums& sums, int site, const ForwardContext& context) const {
  const at::Tensor normalized = sums.products * (context_scale_.view({-1, 1, 1}) / sums.norms);
  return Dropout(normalized, context.dropout.attention.value_or(0), site, context);
}

// `queries` [n, h, d_h] are normalised, `norms` those of the image's S.
AttentionTap::Matrices XAttention::Factors(const at::Tensor& queries, const at::Tensor& keys,
                                           const at::Tensor& norms) const {
  const at::NoGradGuard no_grad;
  at::Tensor q = queries.transpose(0, 1);  // [h, n, d_h]
  if (norm_axis_ == kFeaturesOfV) q = q * (context_scale_.view({-1, 1, 1}) / norms.transpose(1, 2));
  return {.scores = {},
          .weights = {},
          .queries = q.detach().contiguous().cpu(),
          .keys = keys.transpose(0, 1).detach().contiguous().cpu()};
}

}  // namespace vitrine
