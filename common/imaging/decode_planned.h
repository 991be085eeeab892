// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_DECODE_PLANNED_H_
#define VITRINE_COMMON_IMAGING_DECODE_PLANNED_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns the number by which decoding for a model divides the image's sides: 1 for FULL decoding. Otherwise it is the
// largest of 2, 4 and 8 that leaves both sides at least twice the sides of `geometry.scaled`, or 1 if there is none.
int DecodeDivisor(const v1::Preprocessing& preprocessing, const Geometry& geometry);

// Returns the size of the decoded image; sides are rounded up.
Size DecodedSize(const v1::Preprocessing& preprocessing, const Geometry& geometry);

// Decodes an image, reduced by DecodeDivisor. Preprocess with the same `preprocessing` and `geometry` then makes the
// model's input from the result. `geometry` must be planned for the size in the image's header. INVALID_ARGUMENT:
// Decode would reject the image, or the size of the decoded image is not DecodedSize. Thread-safe.
absl::StatusOr<Image> DecodePlanned(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                    const Geometry& geometry);

struct PlannedImage {
  Geometry geometry;
  Image image;
};

// Like DecodePlanned, with the geometry that PlanGeometry chooses for the image.
absl::StatusOr<PlannedImage> PlanAndDecode(std::string_view bytes, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_DECODE_PLANNED_H_
