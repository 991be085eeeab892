// SPDX-License-Identifier: Apache-2.0
#include "programs/repo_picture.h"

#include "base/status_macros.h"
#include "imaging/decode_planned.h"
#include "imaging/preprocess.h"

namespace vitrine {

absl::StatusOr<FloatArray> PictureInput(std::string_view picture, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const PlannedPicture planned, PlanAndDecode(picture, preprocessing));
  const Size input = planned.geometry.input;
  return FloatArray{.shape = {preprocessing.channels(), input.height, input.width},
                    .values = Preprocess(planned.image, preprocessing, planned.geometry)};
}

}  // namespace vitrine
