// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_
#define VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Checks shared by the configs of families with a ConvolutionStem. `family` names a field of ModelConfig.

// Checks that patch is 8 or 16, and that `width` is a multiple of patch / 2, so that the stem's first convolution has a
// whole number of channels.
absl::Status ValidateStem(absl::string_view family, int patch, int width);
// Checks that the initial value of LayerScale or of affine layers is in (0, 100], or is 0, which means the default
// value.
absl::Status CheckInitialScale(absl::string_view field, float scale);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_STEM_CONFIG_H_
