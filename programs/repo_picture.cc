// SPDX-License-Identifier: Apache-2.0
#include "programs/repo_picture.h"

#include <ATen/ops/from_blob.h>

#include <vector>

#include "base/status_macros.h"
#include "imaging/decode.h"
#include "imaging/preprocess.h"

namespace vitrine {

absl::StatusOr<at::Tensor> PictureInput(std::string_view picture, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const Image image, Decode(picture));
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, Size{image.height, image.width}));
  std::vector<float> values = Preprocess(image, preprocessing, geometry);
  return at::from_blob(values.data(), {preprocessing.channels(), geometry.input.height, geometry.input.width}).clone();
}

}  // namespace vitrine
