// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_HEADER_H_
#define VITRINE_COMMON_IMAGING_HEADER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

enum class ImageFormat { kJpeg, kPng, kWebp };

// Properties of an image file, from its header.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int stored_width = 0;  // pixels, as stored in the file
  int stored_height = 0;
  int orientation = 1;  // EXIF 1 to 8; 1 if missing or invalid
  int width = 0;        // pixels, after the orientation is applied
  int height = 0;
};

// Reads the header without decoding or allocating pixels. The time does not depend on the image's size. The start of a
// file is enough, but a WebP and some PNGs store the orientation after the pixels; if this part is missing, the
// orientation is 1. INVALID_ARGUMENT, with a message for the client: the file is empty, is no JPEG, PNG or WebP, has a
// damaged header, is of an unsupported variant (see docs/reference/errors.md), or exceeds the limits.
absl::StatusOr<ImageHeader> ReadHeader(std::string_view bytes, const ImageLimits& limits = {});

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_HEADER_H_
