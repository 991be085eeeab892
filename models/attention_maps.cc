// SPDX-License-Identifier: Apache-2.0
#include "models/attention_maps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>

#include <utility>

#include "models/attention_distance.h"
#include "models/attention_tap.h"

namespace vitrine {
namespace {

using Matrices = AttentionTap::Matrices;

AttentionMap ToMap(v1::AttentionKind kind, int layer, int head, int64_t rows, int64_t columns, bool diverging,
                   const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kFloat).contiguous();
  const float* first = flat.const_data_ptr<float>();
  return {.kind = kind,
          .layer = layer,
          .head = head,
          .rows = static_cast<int>(rows),
          .columns = static_cast<int>(columns),
          .diverging = diverging,
          .values = std::vector<float>(first, first + flat.numel())};
}

// The whole matrix of every head: [heads, queries, n].
at::Tensor WeightsOf(const Matrices& matrices) {
  return matrices.weights.defined() ? matrices.weights : at::matmul(matrices.queries, matrices.keys.transpose(1, 2));
}

// What a query sees of the keys, or the mean over queries: [heads, n]. From factors in time linear in n.
at::Tensor RowsOf(const Matrices& matrices, const v1::AttentionRequest& request, int prefix_tokens) {
  const at::Tensor& queries = matrices.weights.defined() ? matrices.weights : matrices.queries;  // [h, n or 1, ...]
  at::Tensor row;
  if (request.kind() == v1::MEAN_OVER_QUERIES) {
    row = queries.mean(1, /*keepdim=*/true);
  } else if (request.kind() == v1::QUERY_ROW) {
    row = queries.narrow(1, prefix_tokens + request.query(), 1);
  } else {
    row = queries.narrow(1, 0, 1);  // the class token
  }
  return (matrices.weights.defined() ? row : at::matmul(row, matrices.keys.transpose(1, 2))).select(1, 0);
}

// One layer's map of every head: [heads, rows, columns].
at::Tensor MapsOf(const Matrices& matrices, const v1::AttentionRequest& request, const AttentionAbility& ability,
                  Grid grid) {
  if (request.kind() == v1::SCORES) return matrices.scores;
  if (FormOf(request.kind()) != AttentionForm::kGrid) return WeightsOf(matrices);
  // NOTE: a class query sees the class token before the grid, whatever the blocks below have.
  const int prefix = request.kind() == v1::CLASS_ATTENTION ? 1 : ability.prefix_tokens;
  return RowsOf(matrices, request, prefix).slice(1, prefix).view({-1, grid.rows, grid.columns});
}

// The mean over heads. Heads of a signed map have no common scale: each is divided by its largest magnitude first.
at::Tensor MeanOverHeads(const at::Tensor& maps, bool diverging) {
  if (!diverging) return maps.mean(0);
  return (maps / maps.abs().amax({1, 2}, /*keepdim=*/true).clamp_min(1e-30)).mean(0);
}

// Abnar and Zuidema 2020: the product over layers of (A + I) / 2, A the mean over heads; later layers on the left.
AttentionMap Rollout(const AttentionTap& tap, int image, int layers, int prefix_tokens, Grid grid) {
  at::Tensor rollout;
  for (int layer = 0; layer < layers; ++layer) {
    const Matrices* matrices = tap.Find(image, AttentionSource::kTokens, layer);
    if (matrices == nullptr) return {};
    const at::Tensor mean = matrices->weights.mean(0);
    const at::Tensor mixed = (mean + at::eye(mean.size(0))) * 0.5;
    rollout = rollout.defined() ? at::matmul(mixed, rollout) : mixed;
  }
  return ToMap(v1::ROLLOUT, -1, -1, grid.rows, grid.columns, false, rollout[0].slice(0, prefix_tokens));
}

// One row per layer, one column per head.
AttentionMap Distance(const v1::AttentionRequest& resolved, const AttentionAbility& ability, const AttentionTap& tap,
                      int image, Grid grid) {
  AttentionMap map{.kind = v1::DISTANCE, .layer = -1, .head = -1};
  map.columns = resolved.heads_size();
  for (const int layer : resolved.layers()) {
    const Matrices* matrices = tap.Find(image, AttentionSource::kTokens, layer);
    if (matrices == nullptr) continue;
    const at::Tensor heads =
        AttentionDistance(WeightsOf(*matrices), grid, ability.prefix_tokens, ability.cell, resolved.keep_class_mass());
    for (const int head : resolved.heads()) map.values.push_back(static_cast<float>(heads[head].item<double>()));
    ++map.rows;
  }
  return map;
}

}  // namespace

void RequestAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability, int image,
                      AttentionTap& tap) {
  const AttentionAbility::Offer& offer = *ability.Find(resolved.kind());
  if (resolved.kind() == v1::ROLLOUT) {
    for (int layer = 0; layer < offer.layers; ++layer) tap.Request(image, offer.source, layer);
  }
  for (const int layer : resolved.layers()) tap.Request(image, offer.source, layer);
}

std::vector<AttentionMap> CollectAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability,
                                           const AttentionTap& tap, int image, Grid grid) {
  const AttentionAbility::Offer& offer = *ability.Find(resolved.kind());
  if (resolved.kind() == v1::ROLLOUT) return {Rollout(tap, image, offer.layers, ability.prefix_tokens, grid)};
  if (resolved.kind() == v1::DISTANCE) return {Distance(resolved, ability, tap, image, grid)};
  std::vector<AttentionMap> maps;
  for (const int layer : resolved.layers()) {
    const Matrices* matrices = tap.Find(image, offer.source, layer);
    if (matrices == nullptr) continue;
    const at::Tensor all = MapsOf(*matrices, resolved, ability, grid);
    const auto add = [&](int head, const at::Tensor& values) {
      maps.push_back(ToMap(resolved.kind(), layer, head, all.size(1), all.size(2), ability.diverging, values));
    };
    for (const int head : resolved.heads()) add(head, all[head]);
    if (resolved.heads().empty()) add(-1, MeanOverHeads(all, ability.diverging));
  }
  return maps;
}

}  // namespace vitrine
