// SPDX-License-Identifier: Apache-2.0
#include "programs/repo_picture.h"

#include "base/status_macros.h"
#include "imaging/decode.h"
#include "imaging/preprocess.h"

namespace vitrine {

absl::StatusOr<FloatArray> PictureInput(std::string_view picture, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const Image image, Decode(picture));
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, Size{image.height, image.width}));
  return FloatArray{.shape = {preprocessing.channels(), geometry.input.height, geometry.input.width},
                    .values = Preprocess(image, preprocessing, geometry)};
}

}  // namespace vitrine
