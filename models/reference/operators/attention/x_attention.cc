// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/x_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/channel_products.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/gemm.h"

namespace vitrine {
namespace {

using Norm = program::AttendLinearly::Norm;

constexpr double kNormEpsilon = 1e-6;
constexpr int64_t kFeaturesOfK = 2;  // axis of the features of k in Sums::products
constexpr int64_t kFeaturesOfV = 3;

}  // namespace

at::Tensor LinearAttention::OfTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                                     const ForwardContext& context) const {
  const at::Tensor queries = NormalizeQueries(q);
  const Sums sums = SumsOf(k, v, *layout, context);
  Capture(context.tap, AttentionSource::kTokens, layer, 0, layout->images(), [&](int image) {
    const int64_t first = layout->offset(image), count = layout->tokens(image);
    return Factors(queries.narrow(0, first, count), k.narrow(0, first, count), sums.norms[image]);
  });
  return MixChannels(queries, NormalizeSums(sums, site, context), *layout, context);
}

at::Tensor LinearAttention::OfClassTokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const TokenLayout& layout, int layer, int site,
                                          const ForwardContext& context) const {
  const at::Tensor queries = NormalizeQueries(q);
  const Sums sums = SumsOf(k, v, layout, context);
  Capture(context.tap, AttentionSource::kClassQuery, layer, 0, layout.images(), [&](int image) {
    return Factors(queries.narrow(0, image, 1), k.narrow(0, layout.offset(image), layout.tokens(image)),
                   sums.norms[image]);
  });
  const at::Tensor mixed = at::matmul(queries.unsqueeze(2), NormalizeSums(sums, site, context));  // [images, h, 1, d_h]
  return mixed.view({-1, q.size(1) * q.size(2)});
}

// Applies XNorm to the features of every token and head.
at::Tensor LinearAttention::NormalizeQueries(const at::Tensor& q) const {
  if (norm == Norm::kNone) return q * query_scale.view({-1, 1});
  const at::Tensor norms = at::linalg_vector_norm(q, 2, 2, /*keepdim=*/true) + kNormEpsilon;  // [T, h, 1]
  return q * (query_scale.view({-1, 1}) / norms);
}

LinearAttention::Sums LinearAttention::SumsOf(const at::Tensor& k, const at::Tensor& v, const TokenLayout& layout,
                                              const ForwardContext& context) const {
  const at::Tensor products = ChannelProducts(k, v, layout, context);
  if (norm == Norm::kNone) return {products, at::ones_like(products.narrow(kFeaturesOfV, 0, 1))};
  const int64_t axis = norm == Norm::kValues ? kFeaturesOfV : kFeaturesOfK;
  return {products, at::linalg_vector_norm(products, 2, axis, /*keepdim=*/true) + kNormEpsilon};
}

at::Tensor LinearAttention::NormalizeSums(const Sums& sums, int site, const ForwardContext& context) const {
  const at::Tensor normalized = sums.products * (context_scale.view({-1, 1, 1}) / sums.norms);
  return Dropout(normalized, context.dropout.attention.value_or(0), site, context);
}

// Returns `queries` and `keys`, the two factors of the matrix M (x_attention.h), for an AttentionTap. Requires
// normalised `queries` [n, h, d_h]; `norms` are Sums::norms of the image.
AttentionTap::Matrices LinearAttention::Factors(const at::Tensor& queries, const at::Tensor& keys,
                                                const at::Tensor& norms) const {
  at::Tensor q = queries.transpose(0, 1);  // [h, n, d_h]
  if (norm != Norm::kKeys) q = q * (context_scale.view({-1, 1, 1}) / norms.transpose(1, 2));
  return {.scores = {}, .weights = {}, .queries = FloatsOf(q), .keys = FloatsOf(keys.transpose(0, 1))};
}

}  // namespace vitrine
