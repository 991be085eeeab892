// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/decode_planned.h"

#include "absl/strings/str_cat.h"
#include "common/imaging/decode.h"
#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Minimum ratio of the decoded size to geometry.scaled. With a smaller ratio, the reduced decoding would visibly smooth
// edges in the model's input.
constexpr int kLeastReduction = 2;

}  // namespace

int DecodeDivisor(const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  if (preprocessing.decode() != v1::Preprocessing::REDUCED) return 1;
  const auto leaves_enough = [&](int divisor) {
    return geometry.original.height >= divisor * kLeastReduction * geometry.scaled.height &&
           geometry.original.width >= divisor * kLeastReduction * geometry.scaled.width;
  };
  for (const int divisor : {8, 4, 2}) {
    if (leaves_enough(divisor)) return divisor;
  }
  return 1;
}

Size DecodedSize(const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  const int divisor = DecodeDivisor(preprocessing, geometry);
  const Size& planned = geometry.original;
  return {(planned.height + divisor - 1) / divisor, (planned.width + divisor - 1) / divisor};
}

absl::StatusOr<Image> DecodePlanned(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                    const Geometry& geometry) {
  ASSIGN_OR_RETURN(Image image, DecodeReduced(bytes, DecodeDivisor(preprocessing, geometry)));
  if (Size{image.height, image.width} == DecodedSize(preprocessing, geometry)) return image;
  const Size& planned = geometry.original;
  return absl::InvalidArgumentError(absl::StrCat("the image's header says ", planned.width, "x", planned.height,
                                                 ", its data is ", image.width, "x", image.height));
}

absl::StatusOr<PlannedImage> PlanAndDecode(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  PlannedImage planned;
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes));
  ASSIGN_OR_RETURN(planned.geometry, PlanGeometry(preprocessing, Size{header.height, header.width}));
  ASSIGN_OR_RETURN(planned.image, DecodePlanned(bytes, preprocessing, planned.geometry));
  return planned;
}

}  // namespace vitrine
