// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_WEBP_H_
#define VITRINE_IMAGING_WEBP_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/header.h"
#include "imaging/image.h"

namespace vitrine {

// The pixels of a WebP as stored, before its orientation: 3 channels, alpha composited over white. `header` is what
// ReadHeader said about the same bytes. INVALID_ARGUMENT for damage; RESOURCE_EXHAUSTED where libwebp has no memory.
absl::StatusOr<Image> DecodeWebp(std::string_view bytes, const ImageHeader& header);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_WEBP_H_
