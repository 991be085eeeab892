// SPDX-License-Identifier: Apache-2.0
#include "models/attention_request.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string KindNames(const AttentionAbility& ability) {
  return absl::StrJoin(ability.offers, ", ", [](std::string* out, const AttentionAbility::Offer& offer) {
    absl::StrAppend(out, v1::AttentionKind_Name(offer.kind));
  });
}

absl::Status NoSuchKind(v1::AttentionKind kind, const AttentionAbility& ability) {
  const std::string asked =
      v1::AttentionKind_IsValid(kind) ? v1::AttentionKind_Name(kind) : absl::StrCat(static_cast<int>(kind));
  return absl::InvalidArgumentError(
      ability.offers.empty()
          ? absl::StrCat("attention kind ", asked, " is requested, but this model has no attention")
          : absl::StrCat("this model has no attention of kind ", asked, "; it has ", KindNames(ability)));
}

absl::Status CheckEncoding(const v1::AttentionRequest& request) {
  if (!v1::AttentionEncoding_IsValid(request.encoding())) {
    return absl::InvalidArgumentError(absl::StrCat("attention encoding ", int{request.encoding()}, " is unknown"));
  }
  if (request.encoding() == v1::OVERLAY_PNG && FormOf(request.kind()) != AttentionForm::kGrid) {
    return absl::InvalidArgumentError(absl::StrCat("an overlay of ", v1::AttentionKind_Name(request.kind()),
                                                   " is not possible: it does not lie on the image; request its "
                                                   "values, or another kind"));
  }
  return absl::OkStatus();
}

// Checks `query` and `keep_class_mass`, each of which only one kind of request may set.
absl::Status CheckOptions(const v1::AttentionRequest& request, Grid grid) {
  if (request.query() != 0 && request.kind() != v1::QUERY_ROW) {
    return absl::InvalidArgumentError(absl::StrCat("attention query ", request.query(), " is set for kind ",
                                                   v1::AttentionKind_Name(request.kind()),
                                                   "; only QUERY_ROW allows it"));
  }
  if (request.query() < 0 || request.query() >= grid.cells()) {
    return absl::InvalidArgumentError(absl::StrCat("attention query ", request.query(),
                                                   " is out of range; this image has ", grid.rows, "x", grid.columns,
                                                   " patch tokens, 0 to ", grid.cells() - 1));
  }
  if (request.keep_class_mass() && request.kind() != v1::DISTANCE) {
    return absl::InvalidArgumentError(absl::StrCat("attention keep_class_mass is set for kind ",
                                                   v1::AttentionKind_Name(request.kind()),
                                                   "; only DISTANCE allows it"));
  }
  return absl::OkStatus();
}

// Resolves layers or heads to non-negative indices, in the same order. Negative indices count from the end.
absl::StatusOr<std::vector<int>> Resolve(const std::string& what, absl::Span<const int> asked, int count) {
  std::vector<int> resolved;
  for (const int index : asked) {
    if (index >= count || index < -count) {
      return absl::InvalidArgumentError(absl::StrCat("attention ", what, " ", index, " is out of range; this kind has ",
                                                     count, " ", what, "s, 0 to ", count - 1, " or -", count,
                                                     " to -1"));
    }
    const int counted = index < 0 ? index + count : index;
    if (std::find(resolved.begin(), resolved.end(), counted) != resolved.end()) {
      return absl::InvalidArgumentError(absl::StrCat("attention ", what, " ", index, " is requested twice"));
    }
    resolved.push_back(counted);
  }
  return resolved;
}

void AddAll(int count, google::protobuf::RepeatedField<int32_t>& indices) {
  for (int i = 0; i < count; ++i) indices.Add(i);
}

}  // namespace

AttentionForm FormOf(v1::AttentionKind kind) {
  switch (kind) {
    case v1::SCORES:
    case v1::WEIGHTS:
      return AttentionForm::kTokens;
    case v1::CROSS_COVARIANCE:
      return AttentionForm::kChannels;
    case v1::DISTANCE:
      return AttentionForm::kDistance;
    default:
      return AttentionForm::kGrid;
  }
}

absl::StatusOr<v1::AttentionRequest> ResolveAttention(const v1::AttentionRequest& request,
                                                      const AttentionAbility& ability, Grid grid) {
  const AttentionAbility::Offer* offer = ability.Find(request.kind());
  if (offer == nullptr) return NoSuchKind(request.kind(), ability);
  RETURN_IF_ERROR(CheckEncoding(request));
  RETURN_IF_ERROR(CheckOptions(request, grid));
  v1::AttentionRequest resolved = request;
  if (resolved.encoding() == v1::ATTENTION_ENCODING_UNSPECIFIED) resolved.set_encoding(v1::FLOAT16);
  if (request.kind() == v1::ROLLOUT) {
    if (request.layers().empty() && request.heads().empty()) return resolved;
    return absl::InvalidArgumentError("ROLLOUT uses all layers and heads; leave layers and heads empty");
  }
  ASSIGN_OR_RETURN(const std::vector<int> layers, Resolve("layer", request.layers(), offer->layers));
  ASSIGN_OR_RETURN(const std::vector<int> heads, Resolve("head", request.heads(), offer->heads));
  resolved.mutable_layers()->Assign(layers.begin(), layers.end());
  resolved.mutable_heads()->Assign(heads.begin(), heads.end());
  const bool all = request.kind() == v1::DISTANCE;
  if (layers.empty() && all) AddAll(offer->layers, *resolved.mutable_layers());
  if (layers.empty() && !all) resolved.add_layers(offer->layers - 1);
  if (heads.empty() && all) AddAll(offer->heads, *resolved.mutable_heads());
  return resolved;
}

AttentionSize SizeOf(const v1::AttentionRequest& resolved, const AttentionAbility& ability, Grid grid) {
  const int64_t maps = int64_t{resolved.layers_size()} * std::max(1, resolved.heads_size());
  const int64_t n = ability.prefix_tokens + grid.cells();
  switch (FormOf(resolved.kind())) {
    case AttentionForm::kTokens:
      return {.maps = maps, .values_per_map = n * n};
    case AttentionForm::kChannels:
      return {.maps = maps, .values_per_map = int64_t{ability.channels} * ability.channels};
    case AttentionForm::kDistance:
      return {.maps = 1, .values_per_map = maps};
    case AttentionForm::kGrid:
      break;
  }
  return {.maps = resolved.kind() == v1::ROLLOUT ? 1 : maps, .values_per_map = grid.cells()};
}

}  // namespace vitrine
