// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/raw_pixels.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace vitrine {
namespace {

// Returns float number `i` of `bytes`, which need not be aligned.
float FloatAt(const char* bytes, size_t i) {
  float value;
  std::memcpy(&value, bytes + i * sizeof(float), sizeof(float));
  return value;
}

// Returns 1 if the value is outside the range or NaN, else 0. Returns a number instead of a bool so that loops are
// vectorised.
unsigned IsOutside(float value, ValueRange range) {
  return static_cast<unsigned>(!(value >= range.least)) | static_cast<unsigned>(!(value <= range.largest));
}

// Computes to[c * pixels + i] = from[i * channels + c] * scale. Returns true if all values were in the range. Does not
// stop at a value outside the range, so that the loop is vectorised.
template <typename Channels>
bool Separate(const char* from, ValueRange range, float scale, float* to, size_t pixels, Channels channels) {
  unsigned outside = 0;
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < channels; ++c) {
      const float value = FloatAt(from, i * channels + c);
      outside |= IsOutside(value, range);
      to[c * pixels + i] = value * scale;
    }
  }
  return outside == 0;
}

template <size_t n>
using Known = std::integral_constant<size_t, n>;

}  // namespace

std::optional<std::vector<float>> PlanarFloats(std::string_view bytes, int channels, PixelOrder order, ValueRange range,
                                               float scale) {
  const size_t count = bytes.size() / sizeof(float), each = static_cast<size_t>(channels);
  std::vector<float> values(count);
  const auto separate = [&](auto planes) {
    return Separate(bytes.data(), range, scale, values.data(), count / planes, planes);
  };
  const bool in_order = order == PixelOrder::kPlanar || channels == 1;
  const bool in_range = in_order ? separate(Known<1>()) : channels == 3 ? separate(Known<3>()) : separate(each);
  if (!in_range) return std::nullopt;
  return values;
}

const float* FloatsInPlace(std::string_view bytes, ValueRange range) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) != 0) return nullptr;
  unsigned outside = 0;
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) outside |= IsOutside(FloatAt(bytes.data(), i), range);
  return outside == 0 ? reinterpret_cast<const float*>(bytes.data()) : nullptr;
}

std::vector<uint8_t> InterleavedBytes(std::string_view bytes, int channels, PixelOrder order) {
  const auto* const from = reinterpret_cast<const uint8_t*>(bytes.data());
  if (order == PixelOrder::kInterleaved || channels == 1) return {from, from + bytes.size()};
  std::vector<uint8_t> values(bytes.size());
  const size_t count = static_cast<size_t>(channels), pixels = bytes.size() / count;
  for (size_t c = 0; c < count; ++c) {
    for (size_t i = 0; i < pixels; ++i) values[i * count + c] = from[c * pixels + i];
  }
  return values;
}

}  // namespace vitrine
