#include "models/layers/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <utility>

#include "models/layers/dropout.h"
#include "models/layers/token_sequence.h"

namespace vitrine {
namespace {

// The explicit matrices of the images that the tap asks for.
void Capture(const at::Tensor& q, const at::Tensor& k, double scale, const TokenLayout::Run& run, int layer,
             AttentionTap& tap) {
  const at::NoGradGuard no_grad;
  for (int i = 0; i < run.images; ++i) {
    const int image = run.first_image + i;
    if (!tap.Wants(image, AttentionSource::kTokens, layer)) continue;
    const at::Tensor scores = (q[i] * scale).matmul(k[i].transpose(-2, -1));  // [h, n, n]
    tap.Put(image, AttentionSource::kTokens, layer,
            {.scores = scores.cpu(), .weights = scores.softmax(-1).cpu(), .queries = {}, .keys = {}});
  }
}

}  // namespace

SelfAttention::SelfAttention(int width, int heads, Initializer& initializer)
    : heads_(heads),
      qkv_(width, 3 * width, /*bias=*/true, initializer),
      proj_(width, width, /*bias=*/true, initializer) {
  RegisterChild("qkv", qkv_);
  RegisterChild("proj", proj_);
}

at::Tensor SelfAttention::Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
  const at::Tensor qkv = qkv_.Forward(x.data, context.bf16).view({-1, 3, heads_, x.data.size(1) / heads_});
  const at::Tensor mixed = AttendWithinImages(qkv, *x.layout, layer, site + 1, context);
  return Dropout(proj_.Forward(mixed, context.bf16), context.dropout.projection, site, context);
}

at::Tensor AttendWithinImages(const at::Tensor& qkv, const TokenLayout& layout, int layer, int site,
                              const ForwardContext& context) {
  const int64_t width = qkv.size(2) * qkv.size(3);
  const double scale = 1 / std::sqrt(static_cast<double>(qkv.size(3)));
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor q = HeadsOfRun(qkv.select(1, 0), run);  // [B, h, n, d_h]
    const at::Tensor k = HeadsOfRun(qkv.select(1, 1), run);
    const at::Tensor v = HeadsOfRun(qkv.select(1, 2), run);
    if (context.tap != nullptr) Capture(q, k, scale, run, layer, *context.tap);
    const at::Tensor mixed = AttendRun(q, k, v, scale, run, site, context);
    outputs.push_back(mixed.transpose(1, 2).reshape({-1, width}));  // [B n, width]
  }
  return JoinRuns(std::move(outputs), qkv.size(0));
}

at::Tensor AttendRun(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                     const TokenLayout::Run& run, int site, const ForwardContext& context) {
  if (!DropsWeights(context)) {
    return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, /*is_causal=*/false, scale);
  }
  const at::Tensor weights = at::matmul(q * scale, k.transpose(-2, -1)).softmax(-1);
  return at::matmul(Dropout(weights, *context.dropout.attention, site, context, run.first_image), v);
}

at::Tensor HeadsOfRun(const at::Tensor& x, const TokenLayout::Run& run) {
  return x.narrow(0, run.first_token, run.images * run.tokens_per_image)
      .view({run.images, run.tokens_per_image, x.size(1), x.size(2)})
      .transpose(1, 2);
}

}  // namespace vitrine
