// SPDX-License-Identifier: Apache-2.0
#include "models/features.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
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
        kinds.empty() ? absl::StrCat("features of kind ", asked, " were asked for, but this model has no features")
                      : absl::StrCat("this model has no features of kind ", asked, "; it has ", has));
  }
  if (!v1::FeatureEncoding_IsValid(request.encoding())) {
    return absl::InvalidArgumentError(absl::StrCat("feature encoding ", int{request.encoding()}, " is unknown"));
  }
  v1::FeatureRequest resolved = request;
  if (resolved.encoding() == v1::FEATURE_ENCODING_UNSPECIFIED) resolved.set_encoding(v1::FEATURE_FLOAT32);
  return resolved;
}

int64_t ValuesOf(const v1::FeatureRequest& resolved, const FeatureAbility& ability, Grid grid) {
  return ability.width * (resolved.kind() == v1::PATCH_TOKENS ? grid.cells() : 1);
}

FeatureMap CollectFeature(const v1::FeatureRequest& resolved, const TokenTap& tokens, int image) {
  const PackedTokens& all = *tokens.Find(TokenTap::kFinal);
  const TokenLayout& layout = *all.layout;
  const at::Tensor of_image = all.data.narrow(0, layout.offset(image), layout.tokens(image));  // [n, d]
  const at::Tensor patches = of_image.slice(0, layout.prefix_tokens());                        // [cells, d]
  FeatureMap map{.kind = resolved.kind(), .width = static_cast<int>(all.data.size(1))};
  at::Tensor values;
  switch (resolved.kind()) {
    case v1::CLASS_TOKEN:
      values = of_image[0];
      break;
    case v1::MEAN_TOKEN:
      values = patches.mean(0);
      break;
    default:
      map.rows = layout.grid(image).rows;
      map.columns = layout.grid(image).columns;
      values = patches;
  }
  const at::Tensor flat = values.to(at::kFloat).cpu().contiguous();
  map.values.assign(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
  return map;
}

}  // namespace vitrine
