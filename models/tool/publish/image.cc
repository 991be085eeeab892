// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/image.h"

#include <utility>

#include "common/imaging/decode_input.h"
#include "common/status_macros.h"

namespace vitrine {

absl::StatusOr<FloatArray> ImageInput(std::string_view image, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(PlannedInput planned, PlanAndDecodeInput(image, preprocessing));
  const Size input = planned.geometry.input;
  return FloatArray{.shape = {preprocessing.channels(), input.height, input.width},
                    .values = std::move(planned.values)};
}

}  // namespace vitrine
