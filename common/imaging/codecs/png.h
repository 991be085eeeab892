// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_PNG_H_
#define VITRINE_COMMON_IMAGING_CODECS_PNG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/header.h"
#include "common/imaging/image.h"

namespace vitrine {

// Returns the pixels of a PNG as stored, before its orientation is applied: 1 channel for grey, except 16-bit grey with
// alpha, and 3 channels for all other images. Transparency is composited over white, 16 bits are reduced to the upper
// 8, gamma and colour profiles are not applied. For an animation, decodes the default image. `header` is the result of
// ReadHeader for these bytes. INVALID_ARGUMENT for any damage.
absl::StatusOr<Image> DecodePng(std::string_view bytes, const ImageHeader& header);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_PNG_H_
