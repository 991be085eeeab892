// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_PNG_H_
#define VITRINE_COMMON_IMAGING_CODECS_PNG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/header.h"
#include "common/imaging/image.h"

namespace vitrine {

// Returns the pixels of a PNG as stored, before its orientation is applied: 1 channel for grey, 3 for everything else
// and for grey of 16 bits with alpha. Transparency is composited over white, 16 bits are cut to the upper 8, gamma and
// colour profiles are not applied. An animation gives its default image. `header` is the result of ReadHeader for the
// same bytes. INVALID_ARGUMENT for any damage.
absl::StatusOr<Image> DecodePng(std::string_view bytes, const ImageHeader& header);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_PNG_H_
