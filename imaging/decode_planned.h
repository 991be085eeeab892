// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_DECODE_PLANNED_H_
#define VITRINE_IMAGING_DECODE_PLANNED_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "imaging/image.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// How many times smaller an encoded picture is decoded for a model: 1 where its preprocessing decodes in full, else the
// largest of 1, 2, 4 and 8 that leaves both sides at least twice those of `geometry.scaled`.
int DecodeDivisor(const v1::Preprocessing& preprocessing, const Geometry& geometry);

// The size that a picture of `geometry` then has: sides are rounded up.
Size DecodedSize(const v1::Preprocessing& preprocessing, const Geometry& geometry);

// The picture as Preprocess takes it for a model and `geometry`, which was planned for the size in the picture's
// header. INVALID_ARGUMENT as from Decode, and where the pixels are not of the size that was planned for. Thread-safe.
absl::StatusOr<Image> DecodePlanned(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                    const Geometry& geometry);

struct PlannedPicture {
  Geometry geometry;
  Image image;
};

// The same for a picture at the size that the model gives it.
absl::StatusOr<PlannedPicture> PlanAndDecode(std::string_view bytes, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_DECODE_PLANNED_H_
