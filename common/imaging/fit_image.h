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

// Limits of the server, and a limit on decoding in this process.
struct FitLimits {
  ImageLimits accepted = {};                      // limits for the image
  int64_t max_bytes = kMaxRequestBytes;           // limit for the image's file
  int64_t most_pixels_here = int64_t{256} << 20;  // an image with more pixels is an error, so that memory is bounded
};

// An image that was reduced to fit the limits.
struct FittedImage {
  std::string encoded;       // JPEG, upright, without metadata
  Size before, after;        // sizes in upright orientation
  std::string Note() const;  // Returns "6000 x 4000 pixels ... ; sent as 3000 x 2000".
};

// Returns the image, with its orientation applied, at the first of these sizes that the server accepts: full size (if
// only the file is too large), a half, a quarter, an eighth. A JPEG is decoded at the reduced size. Returns nullopt if
// the image fits unchanged. Also returns nullopt if the header cannot be read and the file is small enough to be sent;
// the server then reports the error. INVALID_ARGUMENT: the image is damaged, it has more pixels than
// FitLimits::most_pixels_here, or no size fits.
absl::StatusOr<std::optional<FittedImage>> FitImage(std::string_view encoded, const FitLimits& limits);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_FIT_IMAGE_H_
