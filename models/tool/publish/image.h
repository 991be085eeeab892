// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Converts an encoded image to a model's input [C, H, W]. Used as the ImageToInput of CheckGolden and RecordGolden.
absl::StatusOr<FloatArray> ImageInput(std::string_view image, const v1::Preprocessing& preprocessing);

// Converts an image of a data set. Errors name the image.
absl::StatusOr<FloatArray> InputOf(const Dataset& data, int64_t index, const v1::Preprocessing& preprocessing);

// Describes the images of a data set for a manifest, which must not contain local paths: "cifar10 test, 2000 images".
// `data` is FORMAT:PATH.
std::string DataInWords(const std::string& data, const std::string& split, int64_t images);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMAGE_H_
