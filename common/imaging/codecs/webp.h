// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_WEBP_H_
#define VITRINE_COMMON_IMAGING_CODECS_WEBP_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/header.h"
#include "common/imaging/image.h"

namespace vitrine {

// Returns the pixels of a WebP as stored, before its orientation is applied: 3 channels, alpha composited over white.
// `header` is the result of ReadHeader for these bytes. INVALID_ARGUMENT for damage. RESOURCE_EXHAUSTED if libwebp is
// out of memory.
absl::StatusOr<Image> DecodeWebp(std::string_view bytes, const ImageHeader& header);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_WEBP_H_
