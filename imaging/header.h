// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_HEADER_H_
#define VITRINE_IMAGING_HEADER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

enum class ImageFormat { kJpeg, kPng, kWebp };

// What the first bytes of a picture say about it.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int stored_width = 0;  // pixels, as stored in the file
  int stored_height = 0;
  int orientation = 1;  // EXIF 1 to 8; 1 where the file says nothing or nonsense
  int width = 0;        // pixels, as a person sees the picture, after orientation
  int height = 0;
};

// Reads the header without decoding or allocating pixels. Cost does not depend on the picture's size. The front of a
// file is enough, but for the orientation of a WebP, which stands at its end: without it that is 1.
// INVALID_ARGUMENT, with a sentence for the caller: empty, no JPEG, PNG or WebP, damaged header, a kind of one that is
// refused (see docs/reference/errors.md), or over the limits.
absl::StatusOr<ImageHeader> ReadHeader(std::string_view bytes, const ImageLimits& limits = {});

}  // namespace vitrine

#endif  // VITRINE_IMAGING_HEADER_H_
