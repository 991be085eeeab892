// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_DECODE_INPUT_H_
#define VITRINE_COMMON_IMAGING_DECODE_INPUT_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns the model's input from an encoded image. The values and errors are the same as from DecodePlanned followed by
// Preprocess. A JPEG without rotation is resized while it is decoded, so that memory holds only the few image rows that
// one input row needs. Thread-safe.
absl::StatusOr<std::vector<float>> DecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                               const Geometry& geometry);

struct PlannedInput {
  Geometry geometry;
  std::vector<float> values;
};

// Like DecodeInput, with the geometry that PlanGeometry chooses for the image.
absl::StatusOr<PlannedInput> PlanAndDecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_DECODE_INPUT_H_
