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
  const int64_t width = x.data.size(1);
  const double scale = 1 / std::sqrt(static_cast<double>(width) / heads_);
  const at::Tensor queries =
      q_.Forward(class_tokens, context.bf16).view({-1, heads_, 1, width / heads_});               // [images, h, 1, d_h]
  const at::Tensor keys = k_.Forward(x.data, context.bf16).view({-1, heads_, width / heads_});    // [T, h, d_h]
  const at::Tensor values = v_.Forward(x.data, context.bf16).view({-1, heads_, width / heads_});  // [T, h, d_h]
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor q = queries.narrow(0, run.first_image, run.images);
    const at::Tensor k = HeadsOfRun(keys, run);  // [B, h, n, d_h]
    if (context.tap != nullptr) Capture(q, k, scale, run, layer, *context.tap);
    const at::Tensor mixed = AttendRun(q, k, HeadsOfRun(values, run), scale, run, site + 1, context);
    outputs.push_back(mixed.reshape({run.images, width}));
  }
  const at::Tensor joined = JoinRuns(std::move(outputs), x.layout->images());
  return Dropout(proj_.Forward(joined, context.bf16), context.dropout.projection, site, context);
}

}  // namespace vitrine
