// SPDX-License-Identifier: Apache-2.0
#include "models/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "models/attention_distance.h"
#include "models/attention_tap.h"

namespace vitrine {
namespace {

using Matrices = AttentionTap::Matrices;

// Computes `queries` [queries, width] times the transpose of `keys` [n, width]: [queries, n].
std::vector<float> Product(std::span<const float> queries, std::span<const float> keys, size_t width) {
  const size_t n = keys.size() / width;
  std::vector<float> transposed(keys.size());  // [width, n], so that the inner loop runs along rows
  for (size_t i = 0; i < keys.size(); ++i) transposed[i % width * n + i / width] = keys[i];
  std::vector<float> product(queries.size() / width * n);
  for (size_t i = 0; i < queries.size(); ++i) {
    const float factor = queries[i];
    const float* column = &transposed[i % width * n];
    float* row = &product[i / width * n];
    for (size_t j = 0; j < n; ++j) row[j] += factor * column[j];
  }
  return product;
}

// Returns the array with a row per query: `weights` [heads, queries, n] if set, else `queries` [heads, queries, d_h].
const FloatArray& RowsOf(const Matrices& matrices) {
  return matrices.weights.empty() ? matrices.queries : matrices.weights;
}

// Converts rows from RowsOf to a head's weights over the keys: [rows, n].
std::vector<float> OfKeys(const Matrices& matrices, int head, std::span<const float> rows) {
  if (!matrices.weights.empty()) return {rows.begin(), rows.end()};
  return Product(rows, matrices.keys[head], static_cast<size_t>(matrices.keys.shape[2]));
}

// Returns the whole matrix of a head: [queries, n].
std::vector<float> WeightsOf(const Matrices& matrices, int head) {
  return OfKeys(matrices, head, RowsOf(matrices)[head]);
}

// Returns the mean of all rows except the rows of the registers, which precede the grid.
std::vector<float> MeanOfQueries(std::span<const float> rows, int64_t width, const AttentionAbility& ability) {
  if (ability.registers == 0) return MeanOfRows(rows, width);
  std::vector<float> kept(rows.begin(), rows.end());
  const auto grid = kept.begin() + ability.prefix_tokens * width;
  kept.erase(grid - ability.registers * width, grid);
  return MeanOfRows(kept, width);
}

// Returns one query's row of a head, or the mean over queries: [n]. Without `weights`, takes time linear in n.
std::vector<float> RowOf(const Matrices& matrices, int head, const v1::AttentionRequest& request,
                         const AttentionAbility& ability, int prefix_tokens) {
  const std::span<const float> rows = RowsOf(matrices)[head];
  const int64_t width = RowsOf(matrices).shape[2];
  if (request.kind() == v1::MEAN_OVER_QUERIES) return OfKeys(matrices, head, MeanOfQueries(rows, width, ability));
  const int64_t query = request.kind() == v1::QUERY_ROW ? prefix_tokens + request.query() : 0;  // 0 is the class token
  return OfKeys(matrices, head, rows.subspan(static_cast<size_t>(query * width), static_cast<size_t>(width)));
}

// Returns the map of one head and layer.
AttentionMap MapOf(const Matrices& matrices, int head, const v1::AttentionRequest& request,
                   const AttentionAbility& ability, Grid grid) {
  AttentionMap map{.kind = request.kind(), .head = head, .diverging = ability.diverging};
  if (FormOf(request.kind()) == AttentionForm::kGrid) {
    // NOTE: the keys of a class query include the class token, even if the earlier blocks have no class token.
    const int prefix = request.kind() == v1::CLASS_ATTENTION ? 1 : ability.prefix_tokens;
    map.rows = grid.rows;
    map.columns = grid.columns;
    map.values = RowOf(matrices, head, request, ability, prefix);
    map.values.erase(map.values.begin(), map.values.begin() + prefix);
    return map;
  }
  if (request.kind() == v1::SCORES) {
    const std::span<const float> scores = matrices.scores[head];
    map.values.assign(scores.begin(), scores.end());
  } else {
    map.values = WeightsOf(matrices, head);
  }
  map.rows = static_cast<int>(RowsOf(matrices).shape[1]);
  map.columns = static_cast<int>(map.values.size() / static_cast<size_t>(map.rows));
  return map;
}

// Returns the mean over heads. Signed maps have no common scale, so each head's map is first divided by its largest
// absolute value.
AttentionMap MeanOverHeads(const Matrices& matrices, const v1::AttentionRequest& request,
                           const AttentionAbility& ability, Grid grid) {
  const auto heads = static_cast<int>(RowsOf(matrices).shape[0]);
  AttentionMap map;
  std::vector<float> sums;
  for (int head = 0; head < heads; ++head) {
    map = MapOf(matrices, head, request, ability, grid);
    float scale = 1;
    if (map.diverging) {
      scale = 1e-30F;
      for (const float value : map.values) scale = std::max(scale, std::abs(value));
    }
    sums.resize(map.values.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += map.values[i] / (scale * static_cast<float>(heads));
  }
  map.head = -1;
  map.values = std::move(sums);
  return map;
}

// Multiplies a row vector by (A + I) / 2, where A is the mean of `weights` over heads.
std::vector<double> Through(const FloatArray& weights, const std::vector<double>& row) {
  const int64_t heads = weights.shape[0];
  std::vector<double> next = row;
  for (int64_t head = 0; head < heads; ++head) {
    const float* weight = weights[head].data();
    for (const double value : row) {
      const double share = value / static_cast<double>(heads);
      for (double& sum : next) sum += share * *weight++;
    }
  }
  for (double& value : next) value /= 2;
  return next;
}

// Returns the rollout of Abnar and Zuidema (2020). It is the product of the matrices (A + I) / 2 of all layers, with
// later layers on the left. A is the mean of a layer's weights over the heads. Only the class token's row is needed, so
// that row is multiplied by each layer, starting with the last.
AttentionMap Rollout(const AttentionTap& tap, int image, int layers, int prefix_tokens, Grid grid) {
  std::vector<double> row(static_cast<size_t>(prefix_tokens + grid.cells()));
  row[0] = 1;
  for (int layer = layers - 1; layer >= 0; --layer) {
    const Matrices* matrices = tap.Find(image, AttentionSource::kTokens, layer);
    if (matrices == nullptr) return {};
    row = Through(matrices->weights, row);
  }
  return {.kind = v1::ROLLOUT,
          .layer = -1,
          .head = -1,
          .rows = grid.rows,
          .columns = grid.columns,
          .values = {row.begin() + prefix_tokens, row.end()}};
}

// Returns a map with one row per layer and one column per head.
AttentionMap Distance(const v1::AttentionRequest& resolved, const AttentionAbility& ability, const AttentionTap& tap,
                      int image, Grid grid) {
  AttentionMap map{.kind = v1::DISTANCE, .layer = -1, .head = -1};
  map.columns = resolved.heads_size();
  for (const int layer : resolved.layers()) {
    const Matrices* matrices = tap.Find(image, AttentionSource::kTokens, layer);
    if (matrices == nullptr) continue;
    for (const int head : resolved.heads()) {
      const double pixels = AttentionDistance(WeightsOf(*matrices, head), grid, ability.prefix_tokens, ability.cell,
                                              resolved.keep_class_mass());
      map.values.push_back(static_cast<float>(pixels));
    }
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

int64_t MatrixBytes(std::span<const v1::AttentionRequest> resolved, const AttentionAbility& ability, Grid grid) {
  if (ability.diverging) return 0;  // there is no softmax: the tap gets queries and keys instead of their product
  std::set<int> layers;
  int64_t heads = 0;
  for (const v1::AttentionRequest& request : resolved) {
    const AttentionAbility::Offer& offer = *ability.Find(request.kind());
    if (offer.source != AttentionSource::kTokens) continue;
    heads = offer.heads;
    layers.insert(request.layers().begin(), request.layers().end());
    for (int layer = 0; request.kind() == v1::ROLLOUT && layer < offer.layers; ++layer) layers.insert(layer);
  }
  const int64_t tokens = ability.prefix_tokens + grid.cells();
  constexpr int64_t kPair = 2 * sizeof(float);  // a score and a weight
  return kPair * static_cast<int64_t>(layers.size()) * heads * tokens * tokens;
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
    const auto add = [&](AttentionMap map) {
      map.layer = layer;
      maps.push_back(std::move(map));
    };
    for (const int head : resolved.heads()) add(MapOf(*matrices, head, resolved, ability, grid));
    if (resolved.heads().empty()) add(MeanOverHeads(*matrices, resolved, ability, grid));
  }
  return maps;
}

}  // namespace vitrine
