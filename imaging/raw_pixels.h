// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_RAW_PIXELS_H_
#define VITRINE_IMAGING_RAW_PIXELS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vitrine {

// How the values of a picture that was never encoded lie in a message.
enum class PixelOrder {
  kPlanar,       // [channels, height, width]
  kInterleaved,  // [height, width, channels]
};

// What the values may be, the ends included; NaN is in no range.
struct ValueRange {
  float least;
  float largest;
};

// Little-endian fp32 values at any address, times `scale`, as [channels, height, width]. Nothing if one is out of
// `range`. `bytes` hold whole pixels of one channel or more, here and below.
std::optional<std::vector<float>> PlanarFloats(std::string_view bytes, int channels, PixelOrder order, ValueRange range,
                                               float scale);

// The values where they lie, if all are in `range`; null where one is not, or the address is none of floats.
const float* FloatsInPlace(std::string_view bytes, ValueRange range);

// Values of 8 bits as [height, width, channels].
std::vector<uint8_t> InterleavedBytes(std::string_view bytes, int channels, PixelOrder order);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_RAW_PIXELS_H_
