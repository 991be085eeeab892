#include "models/attention_maps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

// SCORES and WEIGHTS are n x n; the others lie on the grid.
bool IsMatrix(v1::AttentionKind kind) {
  return kind == v1::SCORES || kind == v1::WEIGHTS;
}

std::string KindNames(const std::vector<v1::AttentionKind>& kinds) {
  return absl::StrJoin(kinds, ", ", [](std::string* out, v1::AttentionKind kind) {
    absl::StrAppend(out, v1::AttentionKind_Name(kind));
  });
}

absl::Status CheckKind(const v1::AttentionRequest& request, const AttentionAbility& ability) {
  if (std::find(ability.kinds.begin(), ability.kinds.end(), request.kind()) == ability.kinds.end()) {
    const std::string asked = v1::AttentionKind_IsValid(request.kind()) ? v1::AttentionKind_Name(request.kind())
                                                                        : absl::StrCat(int{request.kind()});
    return absl::InvalidArgumentError(
        ability.kinds.empty()
            ? absl::StrCat("attention kind ", asked, " was asked for, but this model has no attention")
            : absl::StrCat("this model has no attention of kind ", asked, "; it has ", KindNames(ability.kinds)));
  }
  if (!v1::AttentionEncoding_IsValid(request.encoding())) {
    return absl::InvalidArgumentError(absl::StrCat("attention encoding ", int{request.encoding()}, " is unknown"));
  }
  if (request.encoding() == v1::OVERLAY_PNG && IsMatrix(request.kind())) {
    return absl::InvalidArgumentError(absl::StrCat("an overlay of ", v1::AttentionKind_Name(request.kind()),
                                                   " was asked for, which does not lie on the picture; ask for its "
                                                   "values, or for another kind"));
  }
  return absl::OkStatus();
}

// Attention over the grid: of the class token, or the mean over all n queries, without the prefix keys.
at::Tensor SpatialRow(const at::Tensor& weights, v1::AttentionKind kind, int prefix_tokens) {
  const at::Tensor row = kind == v1::CLASS_TOKEN_ROW ? weights[0] : weights.mean(0);
  return row.slice(0, prefix_tokens);
}

AttentionMap ToMap(v1::AttentionKind kind, int layer, int head, int rows, int columns, const at::Tensor& values) {
  const at::Tensor flat = values.contiguous();
  const float* first = flat.const_data_ptr<float>();
  return {kind, layer, head, rows, columns, std::vector<float>(first, first + flat.numel())};
}

// `matrix` is [n, n]: of one head, or the mean.
AttentionMap MapOf(v1::AttentionKind kind, int layer, int head, const at::Tensor& matrix, Grid grid,
                   int prefix_tokens) {
  if (IsMatrix(kind)) {
    const int n = static_cast<int>(matrix.size(0));
    return ToMap(kind, layer, head, n, n, matrix);
  }
  return ToMap(kind, layer, head, grid.rows, grid.columns, SpatialRow(matrix, kind, prefix_tokens));
}

// Abnar and Zuidema 2020: the product over layers of (A + I) / 2, A the mean over heads; later layers on the left.
AttentionMap Rollout(const AttentionTap& tap, int image, int layers, Grid grid, int prefix_tokens) {
  at::Tensor rollout;
  for (int layer = 0; layer < layers; ++layer) {
    const AttentionTap::Matrices* matrices = tap.Find(image, layer);
    if (matrices == nullptr) return {};
    const at::Tensor mean = matrices->weights.mean(0);
    const at::Tensor mixed = (mean + at::eye(mean.size(0))) * 0.5;
    rollout = rollout.defined() ? at::matmul(mixed, rollout) : mixed;
  }
  return ToMap(v1::ROLLOUT, -1, -1, grid.rows, grid.columns, rollout[0].slice(0, prefix_tokens));
}

}  // namespace

absl::StatusOr<v1::AttentionRequest> ResolveAttention(const v1::AttentionRequest& request,
                                                      const AttentionAbility& ability) {
  if (const absl::Status status = CheckKind(request, ability); !status.ok()) return status;
  v1::AttentionRequest resolved = request;
  if (resolved.encoding() == v1::ATTENTION_ENCODING_UNSPECIFIED) resolved.set_encoding(v1::FLOAT16);
  if (request.kind() == v1::ROLLOUT) {
    if (request.layers().empty() && request.heads().empty()) return resolved;
    return absl::InvalidArgumentError("ROLLOUT goes over all layers and heads; leave layers and heads out");
  }
  resolved.clear_layers();
  std::set<int> seen;
  for (const int layer : request.layers()) {
    if (layer < -ability.layers || layer >= ability.layers) {
      return absl::InvalidArgumentError(absl::StrCat("attention layer ", layer, " is out of range; this model has ",
                                                     ability.layers, " layers, 0 to ", ability.layers - 1, " or -",
                                                     ability.layers, " to -1"));
    }
    const int counted = layer < 0 ? layer + ability.layers : layer;
    if (!seen.insert(counted).second) {
      return absl::InvalidArgumentError(absl::StrCat("attention layer ", layer, " is asked for twice"));
    }
    resolved.add_layers(counted);
  }
  if (request.layers().empty()) resolved.add_layers(ability.layers - 1);
  seen.clear();
  for (const int head : request.heads()) {
    if (head < 0 || head >= ability.heads) {
      return absl::InvalidArgumentError(absl::StrCat("attention head ", head, " is out of range; this model has ",
                                                     ability.heads, " heads, 0 to ", ability.heads - 1));
    }
    if (!seen.insert(head).second) {
      return absl::InvalidArgumentError(absl::StrCat("attention head ", head, " is asked for twice"));
    }
  }
  return resolved;
}

AttentionSize SizeOf(const v1::AttentionRequest& resolved, Grid grid, int prefix_tokens) {
  if (resolved.kind() == v1::ROLLOUT) return {.maps = 1, .values_per_map = grid.cells()};
  const int64_t n = prefix_tokens + grid.cells();
  return {.maps = int64_t{resolved.layers_size()} * std::max(1, resolved.heads_size()),
          .values_per_map = IsMatrix(resolved.kind()) ? n * n : grid.cells()};
}

void RequestAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability, int image,
                      AttentionTap& tap) {
  if (resolved.kind() == v1::ROLLOUT) {
    for (int layer = 0; layer < ability.layers; ++layer) tap.Request(image, layer);
  }
  for (const int layer : resolved.layers()) tap.Request(image, layer);
}

std::vector<AttentionMap> CollectAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability,
                                           const AttentionTap& tap, int image, Grid grid, int prefix_tokens) {
  if (resolved.kind() == v1::ROLLOUT) return {Rollout(tap, image, ability.layers, grid, prefix_tokens)};
  std::vector<AttentionMap> maps;
  for (const int layer : resolved.layers()) {
    const AttentionTap::Matrices* matrices = tap.Find(image, layer);
    if (matrices == nullptr) continue;
    const at::Tensor& all = resolved.kind() == v1::SCORES ? matrices->scores : matrices->weights;  // [heads, n, n]
    for (const int head : resolved.heads()) {
      maps.push_back(MapOf(resolved.kind(), layer, head, all[head], grid, prefix_tokens));
    }
    if (resolved.heads().empty()) {
      maps.push_back(MapOf(resolved.kind(), layer, -1, all.mean(0), grid, prefix_tokens));
    }
  }
  return maps;
}

}  // namespace vitrine
