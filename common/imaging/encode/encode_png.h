// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_ENCODE_ENCODE_PNG_H_
#define VITRINE_COMMON_IMAGING_ENCODE_ENCODE_PNG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

// Encodes an image as a lossless PNG file, grey or RGB with 8 bits per channel. INVALID_ARGUMENT if sides, channels and
// number of bytes do not match. Thread-safe.
absl::StatusOr<std::string> EncodePng(const Image& image);

// Estimates the size of EncodePng's result by compressing an eighth of the rows. The estimate is usually too high, by
// up to a third for images with few rows. The relative error is nearly the same for similar images, such as the
// overlays of one image. Returns the errors of EncodePng. Thread-safe.
absl::StatusOr<int64_t> EstimatePngBytes(const Image& image);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_ENCODE_ENCODE_PNG_H_
