// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_DECODE_H_
#define VITRINE_COMMON_IMAGING_DECODE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

// Decodes a JPEG, PNG or WebP and applies its EXIF orientation. Colour becomes RGB, grey stays grey; alpha is
// composited over white; 16 bits are reduced to 8; CMYK is converted (see docs/reference/errors.md). INVALID_ARGUMENT
// for everything that ReadHeader rejects, and for damage found while decoding: a truncated or corrupt image never
// returns pixels. Thread-safe; keeps no state between calls.
absl::StatusOr<Image> Decode(std::string_view bytes, const ImageLimits& limits = {});

// Decodes at 1/1, 1/2, 1/4 or 1/8 of the size, with sides rounded up; the limits apply to the full size. For a JPEG
// only the low frequencies are computed, so that time and memory depend on the reduced size. Images in other formats
// are decoded at full size and then averaged in blocks.
absl::StatusOr<Image> DecodeReduced(std::string_view bytes, int divisor, const ImageLimits& limits = {});

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_DECODE_H_
