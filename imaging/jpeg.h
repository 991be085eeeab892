// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_JPEG_H_
#define VITRINE_IMAGING_JPEG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/header.h"
#include "imaging/image.h"

namespace vitrine {

// The pixels of a JPEG as stored, before its orientation: 1 channel for grey, 3 for everything else.
// `header` is what ReadHeader said about the same bytes under the same limits. Decoded at 1/divisor of the size, with
// divisor 1, 2, 4 or 8, sides rounded up. INVALID_ARGUMENT for any damage.
absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits,
                                 int divisor = 1);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_JPEG_H_
