// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FEATURES_H_
#define VITRINE_MODELS_FEATURES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/token_layout.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

class TokenTap;

// Features of an image, taken before the head.
struct FeatureMap {
  v1::FeatureKind kind = v1::FEATURE_KIND_UNSPECIFIED;
  int rows = 1;
  int columns = 1;
  int width = 0;
  std::vector<float> values = {};  // rows x columns x width, row-major
};

// Checks a request against the model and fills in defaults. INVALID_ARGUMENT names the invalid value.
absl::StatusOr<v1::FeatureRequest> ResolveFeature(const v1::FeatureRequest& request, const FeatureAbility& ability);

// Returns the number of values that a resolved request returns for an image with this grid.
int64_t ValuesOf(const v1::FeatureRequest& resolved, const FeatureAbility& ability, Grid grid);

// Returns the stage of TokenTap that features of this kind are taken from.
int StageOf(v1::FeatureKind kind);

// Returns the features of one image. Requires that StageOf(kind) was requested before the forward pass. `registers` is
// FeatureAbility::registers.
FeatureMap CollectFeature(const v1::FeatureRequest& resolved, const TokenTap& tokens, int image, int registers = 0);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FEATURES_H_
