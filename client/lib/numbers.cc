// SPDX-License-Identifier: Apache-2.0
#include "client/lib/numbers.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

float FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return bits >> 15 == 0 ? value : -value;
}

uint32_t LittleEndian(const std::string& bytes, size_t first, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[first + i])) << (8 * i);
  return value;
}

// Requires bytes.size() == count * size, size 2 or 4.
std::vector<float> Floats(const std::string& bytes, size_t count, size_t size) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = LittleEndian(bytes, i * size, size);
    values[i] = size == 2 ? FromHalf(static_cast<uint16_t>(bits)) : std::bit_cast<float>(bits);
  }
  return values;
}

size_t BytesPerValue(v1::AttentionEncoding encoding) {
  switch (encoding) {
    case v1::FLOAT16:
      return 2;
    case v1::UINT8:
      return 1;
    case v1::FLOAT32:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMap& map) {
  const size_t size = BytesPerValue(map.encoding());
  if (size == 0) return absl::InvalidArgumentError("the attention map holds no numbers");
  const size_t count = map.rows() < 1 || map.columns() < 1 ? 0 : static_cast<size_t>(map.rows()) * map.columns();
  if (count == 0 || map.values().size() != count * size) {
    return absl::InvalidArgumentError(absl::StrCat("an attention map of ", map.rows(), "x", map.columns(),
                                                   " values cannot have ", map.values().size(), " bytes"));
  }
  if (size > 1) return Floats(map.values(), count, size);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = map.offset() + map.scale() * static_cast<float>(static_cast<uint8_t>(map.values()[i]));
  }
  return values;
}

absl::StatusOr<std::vector<float>> FeatureValues(const v1::Feature& feature) {
  const bool known = feature.encoding() == v1::FEATURE_FLOAT32 || feature.encoding() == v1::FEATURE_FLOAT16;
  if (!known)
    return absl::InvalidArgumentError("the feature's numbers are in an encoding that this client cannot read");
  const size_t size = feature.encoding() == v1::FEATURE_FLOAT16 ? 2 : 4;
  size_t count = 1;
  for (const int side : {feature.rows(), feature.columns(), feature.width()}) {
    count *= side < 1 ? 0 : static_cast<size_t>(side);
    if (count > feature.values().size()) count = 0;  // stops before the next multiplication can overflow
  }
  if (count == 0 || feature.values().size() != count * size) {
    return absl::InvalidArgumentError(absl::StrCat("a feature of ", feature.rows(), "x", feature.columns(),
                                                   " cells and ", feature.width(), " channels cannot have ",
                                                   feature.values().size(), " bytes"));
  }
  return Floats(feature.values(), count, size);
}

}  // namespace vitrine
