// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_FIT_PICTURE_H_
#define VITRINE_IMAGING_FIT_PICTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/request_size.h"
#include "imaging/geometry.h"
#include "imaging/image.h"

namespace vitrine {

// What a server takes, and what is still decoded here.
struct FitLimits {
  ImageLimits accepted = {};                      // of the picture
  int64_t max_bytes = kMaxRequestBytes;           // of its file
  int64_t most_pixels_here = int64_t{256} << 20;  // larger ones are refused: nobody's memory is endless
};

// A picture made small enough.
struct FittedPicture {
  std::string encoded;       // JPEG, upright, no metadata
  Size before, after;        // as a person sees it
  std::string Note() const;  // "6000 x 4000 pixels ... ; sent as 3000 x 2000"
};

// The picture at half, a quarter or an eighth of its size (of a JPEG only that much is decoded), the first that fits;
// at its own where only its file is too large. Its orientation is applied.
// nullopt: it fits as it is, or nothing can be told about it here and the server shall name the fault.
// INVALID_ARGUMENT: damage, more pixels than are decoded here, a picture so long that no such size fits.
absl::StatusOr<std::optional<FittedPicture>> FitPicture(std::string_view encoded, const FitLimits& limits);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_FIT_PICTURE_H_
