// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_GOLDEN_INPUT_H_
#define VITRINE_SERVER_REGISTRY_GOLDEN_INPUT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Decodes an encoded golden image into a model's input [channels, height, width], in the same way as the image of a
// request. The result has the size to which the model resizes the image. INVALID_ARGUMENT: the image is damaged, or the
// model does not accept its size.
absl::StatusOr<FloatArray> DecodeGoldenInput(std::string_view image, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_GOLDEN_INPUT_H_
