// SPDX-License-Identifier: Apache-2.0
#include "models/features.h"

#include <algorithm>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/token_tap.h"

namespace vitrine {

absl::StatusOr<v1::FeatureRequest> ResolveFeature(const v1::FeatureRequest& request, const FeatureAbility& ability) {
  const std::vector<v1::FeatureKind>& kinds = ability.kinds;
  if (std::find(kinds.begin(), kinds.end(), request.kind()) == kinds.end()) {
    const std::string asked = v1::FeatureKind_IsValid(request.kind()) ? v1::FeatureKind_Name(request.kind())
                                                                      : absl::StrCat(int{request.kind()});
    const std::string has = absl::StrJoin(
        kinds, ", ", [](std::string* out, v1::FeatureKind kind) { absl::StrAppend(out, v1::FeatureKind_Name(kind)); });
    return absl::InvalidArgumentError(
        kinds.empty() ? absl::StrCat("features of kind ", asked, " are requested, but this model has no features")
                      : absl::StrCat("this model has no features of kind ", asked, "; it has ", has));
  }
  if (!v1::FeatureEncoding_IsValid(request.encoding())) {
    return absl::InvalidArgumentError(absl::StrCat("feature encoding ", int{request.encoding()}, " is unknown"));
  }
  v1::FeatureRequest resolved = request;
  if (resolved.encoding() == v1::FEATURE_ENCODING_UNSPECIFIED) resolved.set_encoding(v1::FEATURE_FLOAT32);
  return resolved;
}

int StageOf(v1::FeatureKind kind) {
  return kind == v1::PROJECTION ? TokenTap::kProjection : TokenTap::kFinal;
}

int64_t ValuesOf(const v1::FeatureRequest& resolved, const FeatureAbility& ability, Grid grid) {
  if (resolved.kind() == v1::PROJECTION) return ability.projection;
  const bool is_registers = resolved.kind() == v1::REGISTER_TOKENS;
  return ability.width * (resolved.kind() == v1::PATCH_TOKENS ? grid.cells() : is_registers ? ability.registers : 1);
}

FeatureMap CollectFeature(const v1::FeatureRequest& resolved, const TokenTap& tokens, int image, int registers) {
  const TokenTap::Tokens& all = *tokens.Find(StageOf(resolved.kind()));
  const TokenLayout& layout = *all.layout;
  const int64_t width = all.data.shape[1];
  // Returns the values of `count` tokens of the image, starting at token `first`.
  const auto values_of = [&](int64_t first, int64_t count) {
    return std::span(all.data.values)
        .subspan(static_cast<size_t>((layout.offset(image) + first) * width), static_cast<size_t>(count * width));
  };
  FeatureMap map{.kind = resolved.kind(), .width = static_cast<int>(width)};
  if (resolved.kind() == v1::PROJECTION) {
    const auto first = all.data.values.begin() + image * width;
    map.values.assign(first, first + width);
    return map;
  }
  const std::span<const float> patches = values_of(layout.prefix_tokens(), layout.grid(image).cells());
  switch (resolved.kind()) {
    case v1::CLASS_TOKEN: {
      const std::span<const float> first = values_of(0, 1);
      map.values.assign(first.begin(), first.end());
      break;
    }
    case v1::REGISTER_TOKENS: {
      map.columns = registers;
      const std::span<const float> rows = values_of(layout.prefix_tokens() - map.columns, map.columns);
      map.values.assign(rows.begin(), rows.end());
      break;
    }
    case v1::MEAN_TOKEN:
      map.values = MeanOfRows(patches, width);
      break;
    default:
      map.rows = layout.grid(image).rows;
      map.columns = layout.grid(image).columns;
      map.values.assign(patches.begin(), patches.end());
  }
  return map;
}

}  // namespace vitrine
