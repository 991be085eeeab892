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
      over_values_(config.norm_axis() == v1::XVitConfig::LAST),
      qkv_(config.width(), 3 * attention_width_, /*bias=*/true, initializer),
      proj_(attention_width_, config.width(), /*bias=*/true, initializer) {
  RegisterParameter("query_scale", query_scale_, initializer.Ones({heads_}));
  RegisterParameter("context_scale", context_scale_, initializer.Ones({heads_}));
  RegisterChild("qkv", qkv_);
  RegisterChild("proj", proj_);
}

at::Tensor XAttention::Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
  const at::Tensor qkv = Project(x.data, 0, 3, context);  // [T, 3, h, d_h]
  const at::Tensor mixed =
      attention().OfTokens(qkv.select(1, 0), qkv.select(1, 1), qkv.select(1, 2), x.layout, layer, site + 1, context);
  return Dropout(proj_.ForwardOperand(mixed, context), context.dropout.projection, site, context);
}

at::Tensor XAttention::ForClassTokens(const at::Tensor& class_tokens, const PackedTokens& x, int layer, int site,
                                      const ForwardContext& context) const {
  const at::Tensor q = Project(class_tokens, 0, 1, context).select(1, 0);  // [images, h, d_h]
  const at::Tensor kv = Project(x.data, 1, 2, context);                    // [T, 2, h, d_h]
  const at::Tensor mixed =
      attention().OfClassTokens(q, kv.select(1, 0), kv.select(1, 1), *x.layout, layer, site + 1, context);
  return Dropout(proj_.ForwardOperand(mixed, context), context.dropout.projection, site, context);
}

// Some of q, k and v: [T, parts, h, d_h].
at::Tensor XAttention::Project(const at::Tensor& x, int first_part, int parts, const ForwardContext& context) const {
  const int64_t first = first_part * attention_width_, count = parts * attention_width_;
  return AffineMap(x, qkv_.weight().narrow(0, first, count), qkv_.bias().narrow(0, first, count), context.bf16)
      .view({-1, parts, heads_, attention_width_ / heads_});
}

at::Tensor LinearAttention::OfTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                                     const ForwardContext& context) const {
  const at::Tensor queries = NormalizeQueries(q);
  const Sums sums = SumsOf(k, v, *layout, context);
  for (int image = 0; context.tap != nullptr && image < layout->images(); ++image) {
    if (!context.tap->Wants(image, AttentionSource::kTokens, layer)) continue;
    const int64_t first = layout->offset(image), count = layout->tokens(image);
    context.tap->Put(image, AttentionSource::kTokens, layer,
                     Factors(queries.narrow(0, first, count), k.narrow(0, first, count), sums.norms[image]));
  }
  return MixChannels(queries, NormalizeSums(sums, site, context), *layout, context);
}

at::Tensor LinearAttention::OfClassTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const TokenLayout& layout, int layer, int site,
                                          const ForwardContext& context) const {
  const at::Tensor queries = NormalizeQueries(q);
  const Sums sums = SumsOf(k, v, layout, context);
  for (int image = 0; context.tap != nullptr && image < layout.images(); ++image) {
    if (!context.tap->Wants(image, AttentionSource::kClassQuery, layer)) continue;
    context.tap->Put(image, AttentionSource::kClassQuery, layer,
                     Factors(queries.narrow(0, image, 1), k.narrow(0, layout.offset(image), layout.tokens(image)),
                             sums.norms[image]));
  }
  const at::Tensor mixed = at::matmul(queries.unsqueeze(2), NormalizeSums(sums, site, context));  // [images, h, 1, d_h]
  return mixed.view({-1, q.size(1) * q.size(2)});
}

// XN over the features of every token and head.
at::Tensor LinearAttention::NormalizeQueries(const at::Tensor& q) const {
  const at::Tensor norms = at::linalg_vector_norm(q, 2, 2, /*keepdim=*/true) + kNormEpsilon;  // [T, h, 1]
  return q * (query_scale.view({-1, 1}) / norms);
}

LinearAttention::Sums LinearAttention::SumsOf(const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout,
                                              const ForwardContext& context) const {
  const at::Tensor products = ChannelProducts(k, v, layout, context);
  const int64_t axis = over_values ? kFeaturesOfV : kFeaturesOfK;
  return {products, at::linalg_vector_norm(products, 2, axis, /*keepdim=*/true) + kNormEpsilon};
}

at::Tensor LinearAttention::NormalizeSums(const Sums& sums, int site, const ForwardContext& context) const {
  const at::Tensor normalized = sums.products * (context_scale.view({-1, 1, 1}) / sums.norms);
  return Dropout(normalized, context.dropout.attention.value_or(0), site, context);
}

// `queries` [n, h, d_h] are normalised, `norms` those of the image's S.
AttentionTap::Matrices LinearAttention::Factors(const at::Tensor& queries, const at::Tensor& keys,
                                                const at::Tensor& norms) const {
  const at::NoGradGuard no_grad;
  at::Tensor q = queries.transpose(0, 1);  // [h, n, d_h]
  if (over_values) q = q * (context_scale.view({-1, 1, 1}) / norms.transpose(1, 2));
  return {.scores = {},
          .weights = {},
          .queries = q.detach().contiguous().cpu(),
          .keys = keys.transpose(0, 1).detach().contiguous().cpu()};
}

}  // namespace vitrine
