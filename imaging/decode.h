// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_DECODE_H_
#define VITRINE_IMAGING_DECODE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// Decodes a JPEG, PNG or WebP and applies its EXIF orientation. Colour becomes RGB, grey stays grey; alpha is
// composited over white; 16 bits are reduced to 8; CMYK is converted (see docs/reference/errors.md).
// INVALID_ARGUMENT for everything ReadHeader refuses and for damage found while decoding: a truncated or corrupt
// picture never yields pixels. Thread-safe; keeps nothing between calls.
absl::StatusOr<Image> Decode(std::string_view bytes, const ImageLimits& limits = {});

// The same picture at a 1, 2, 4 or 8 times smaller size, sides rounded up; the limits are those of the whole one. Of a
// JPEG only the low frequencies are computed, so that time and memory follow the small size; the pixels of the others
// are averaged in blocks.
absl::StatusOr<Image> DecodeReduced(std::string_view bytes, int divisor, const ImageLimits& limits = {});

}  // namespace vitrine

#endif  // VITRINE_IMAGING_DECODE_H_
