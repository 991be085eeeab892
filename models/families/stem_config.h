// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_
#define VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// What the configs of families with a ConvolutionStem have in common. `family` is the field of ModelConfig.

// patch is 8 or 16, and width a multiple of what the stem halves it by.
absl::Status ValidateStem(absl::string_view family, int patch, int width);
// The initial value of LayerScale or of affine layers: 0 for the default, or up to 100.
absl::Status CheckInitialScale(absl::string_view field, float scale);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_
