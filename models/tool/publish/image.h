// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Converts an encoded image to a model's input [C, H, W]. Used as the ImageToInput of CheckGolden and RecordGolden.
absl::StatusOr<FloatArray> ImageInput(std::string_view image, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_
