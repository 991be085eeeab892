// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/number_encoding.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace vitrine {

static_assert(std::endian::native == std::endian::little, "values are sent little-endian as they lie in memory");

std::string EncodeHalf(std::span<const float> values) {
  std::string bytes(values.size() * sizeof(uint16_t), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = ToHalf(values[i]);
    std::memcpy(bytes.data() + i * sizeof(half), &half, sizeof(half));
  }
  return bytes;
}

std::string EncodeFloat(std::span<const float> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

uint16_t ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more, or is infinite
  if (magnitude < 0x38800000) {                       // subnormal: the nearest multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0f;
    return sign | static_cast<uint16_t>(std::nearbyint(scaled));
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

}  // namespace vitrine
