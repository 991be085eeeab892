// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_ENCODE_ENCODE_JPEG_H_
#define VITRINE_COMMON_IMAGING_ENCODE_ENCODE_JPEG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

// Encodes an image as a baseline JPEG file, grey or RGB. `quality` is libjpeg's quality, 1 to 100. INVALID_ARGUMENT if
// sides, channels and number of bytes do not match. Thread-safe.
absl::StatusOr<std::string> EncodeJpeg(const Image& image, int quality);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_ENCODE_ENCODE_JPEG_H_
