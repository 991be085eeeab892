// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_RAW_PIXELS_H_
#define VITRINE_COMMON_IMAGING_RAW_PIXELS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vitrine {

// Order of raw pixels in a message.
enum class PixelOrder {
  kPlanar,       // [channels, height, width]
  kInterleaved,  // [height, width, channels]
};

// Allowed values, including the bounds; NaN is in no range.
struct ValueRange {
  float least;
  float largest;
};

// Returns the little-endian floats in `bytes` (of any alignment), multiplied by `scale`, as [channels, height, width];
// nullopt if a value is outside `range`. In all functions of this file, `bytes` must hold a whole number of pixels, and
// `channels` must be at least 1.
std::optional<std::vector<float>> PlanarFloats(std::string_view bytes, int channels, PixelOrder order, ValueRange range,
                                               float scale);

// Returns a pointer to the values in `bytes`. Returns null if a value is outside `range`, or the address is not aligned
// for floats.
const float* FloatsInPlace(std::string_view bytes, ValueRange range);

// Returns `bytes`, one per value, in the order [height, width, channels].
std::vector<uint8_t> InterleavedBytes(std::string_view bytes, int channels, PixelOrder order);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_RAW_PIXELS_H_
