// SPDX-License-Identifier: Apache-2.0
#include "models/layers/class_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "models/layers/attention.h"
#include "models/layers/dropout.h"
#include "models/layers/token_sequence.h"

namespace vitrine {
namespace {

// The rows [h, 1, n] of the images that the tap asks for; q is [B, h, 1, d_h], k [B, h, n, d_h].
void Capture(const at::Tensor& q, const at::Tensor& k, double scale, const TokenLayout::Run& run, int layer,
             AttentionTap& tap) {
  const at::NoGradGuard no_grad;
  for (int i = 0; i < run.images; ++i) {
    const int image = run.first_image + i;
    if (!tap.Wants(image, AttentionSource::kClassQuery, layer)) continue;
    const at::Tensor scores = (q[i] * scale).matmul(k[i].transpose(1, 2));
    tap.Put(image, AttentionSource::kClassQuery, layer,
            {.scores = scores.cpu(), .weights = scores.softmax(-1).cpu(), .queries = {}, .keys = {}});
  }
}

}  // namespace

ClassAttention::ClassAttention(int width, int heads, Initializer& initializer)
    : heads_(heads),
      q_(width, width, /*bias=*/true, initializer),
      k_(width, width, /*bias=*/true, initializer),
      v_(width, width, /*bias=*/true, initializer),
      proj_(width, width, /*bias=*/true, initializer) {
  RegisterChild("q", q_);
  RegisterChild("k", k_);
  RegisterChild("v", v_);
  RegisterChild("proj", proj_);
}

at::Tensor ClassAttention::Forward(const at::Tensor& class_tokens, const PackedTokens& x, int layer, int site,
                                   const ForwardContext& context) const {
  const at::Tensor q = q_.Forward(class_tokens, context.bf16);
  const at::Tensor k = k_.Forward(x.data, context.bf16);
  const at::Tensor v = v_.Forward(x.data, context.bf16);
  const at::Tensor mixed = AttendFromClass(q, k, v, heads_, *x.layout, layer, site + 1, context);
  return Dropout(proj_.Forward(mixed, context.bf16), context.dropout.projection, site, context);
}

at::Tensor AttendFromClass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int heads,
                           const TokenLayout& layout, int layer, int site, const ForwardContext& context) {
  const int64_t width = k.size(1);
  const double scale = 1 / std::sqrt(static_cast<double>(width) / heads);
  const at::Tensor queries = q.view({-1, heads, 1, width / heads});  // [images, h, 1, d_h]
  const at::Tensor keys = k.view({-1, heads, width / heads});        // [T, h, d_h]
  const at::Tensor values = v.view({-1, heads, width / heads});
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor of_run = queries.narrow(0, run.first_image, run.images);
    const at::Tensor keys_of_run = HeadsOfRun(keys, run);  // [B, h, n, d_h]
    if (context.tap != nullptr) Capture(of_run, keys_of_run, scale, run, layer, *context.tap);
    const at::Tensor mixed = AttendRun(of_run, keys_of_run, HeadsOfRun(values, run), scale, run, site, context);
    outputs.push_back(mixed.reshape({run.images, width}));
  }
  return JoinRuns(std::move(outputs), layout.images());
}

}  // namespace vitrine
