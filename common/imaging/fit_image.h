// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_FIT_IMAGE_H_
#define VITRINE_COMMON_IMAGING_FIT_IMAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "common/request_size.h"

namespace vitrine {

// Limits of a server, and of decoding in this process.
struct FitLimits {
  ImageLimits accepted = {};                      // for the image
  int64_t max_bytes = kMaxRequestBytes;           // for its file
  int64_t most_pixels_here = int64_t{256} << 20;  // larger ones are an error, to bound memory
};

// An image reduced to the limits.
struct FittedImage {
  std::string encoded;       // JPEG, upright, no metadata
  Size before, after;        // upright
  std::string Note() const;  // "6000 x 4000 pixels ... ; sent as 3000 x 2000"
};

// Returns the image at half, a quarter or an eighth of its size (a JPEG is only decoded at that size), the first that
// fits; at its full size if only its file is too large. Its orientation is applied. nullopt: it fits unchanged, or it
// cannot be judged here and the server shall report the error. INVALID_ARGUMENT: damage, more pixels than are decoded
// here, or an image so long that no such size fits.
absl::StatusOr<std::optional<FittedImage>> FitImage(std::string_view encoded, const FitLimits& limits);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_FIT_IMAGE_H_
