// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_ENCODE_PNG_H_
#define VITRINE_IMAGING_ENCODE_PNG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// The picture as a PNG file, grey or RGB with 8 bits per channel; decoding it gives the same pixels.
// INVALID_ARGUMENT if the sides, the channels and the number of bytes do not fit each other; throws std::bad_alloc
// where memory is exhausted. Thread-safe.
absl::StatusOr<std::string> EncodePng(const Image& image);

// About as many bytes as EncodePng would return, for the price of an eighth of the rows: mostly too much, by up to a
// third where there are few rows, but by nearly the same factor for pictures that look alike, such as the overlays of
// one picture. Fails as EncodePng does. Thread-safe.
absl::StatusOr<int64_t> EstimatePngBytes(const Image& image);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_ENCODE_PNG_H_
