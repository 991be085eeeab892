// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/kv_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>
#include <utility>

#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {

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
    Capture(context.tap, AttentionSource::kTokens, layer, run.first_image, run.images, [&](int i) {
      const at::Tensor scores = Scores(q[i], k[i]);  // [h, n, n]
      return Explicit(map ? map->Scaled(scores) : scores, Weights(scores));
    });
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

// Computes alpha * q k^T.
at::Tensor KeyedAttention::Scores(const at::Tensor& q, const at::Tensor& k) const {
  return at::matmul(q * alpha, k.transpose(-2, -1));  // [..., h, n, n]
}

at::Tensor KeyedAttention::Weights(const at::Tensor& scores) const {
  return (map ? map->Logits(scores) : scores).softmax(-1);
}

}  // namespace vitrine
