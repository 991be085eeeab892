// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_DECODE_INPUT_H_
#define VITRINE_IMAGING_DECODE_INPUT_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// The model's input from an encoded picture: DecodePlanned and Preprocess in one, with the same bits and the same
// refusals. A JPEG that is stored upright is resized while it is decoded, so that no more of its pixels are held than
// the few rows that a row of the input depends on. Thread-safe.
absl::StatusOr<std::vector<float>> DecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                               const Geometry& geometry);

struct PlannedInput {
  Geometry geometry;
  std::vector<float> values;
};

// The same for a picture at the size that the model gives it.
absl::StatusOr<PlannedInput> PlanAndDecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_DECODE_INPUT_H_
