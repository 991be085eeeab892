// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/attention_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace vitrine {
namespace {

static_assert(std::endian::native == std::endian::little, "values are sent little-endian as they lie in memory");

// Encodes NaN, which DISTANCE gives for a head without a distance, as 0, because bytes cannot represent it.
std::string EncodeByte(std::vector<float> values, float& scale, float& offset) {
  if (values.empty()) return {};
  std::ranges::replace_if(
      values, [](float value) { return std::isnan(value); }, 0.0f);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  offset = *low;
  scale = (*high - *low) / 255;
  std::string bytes(values.size(), '\0');
  if (scale > 0) {
    for (size_t i = 0; i < values.size(); ++i) {
      bytes[i] = static_cast<char>(std::clamp(std::lround((values[i] - offset) / scale), 0L, 255L));
    }
  }
  return bytes;
}

}  // namespace

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
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // the value rounds to 65536 or more, or is infinite
  if (magnitude < 0x38800000) {                       // subnormal: the nearest multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0f;
    return sign | static_cast<uint16_t>(std::nearbyint(scaled));
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

int64_t AttentionBytesAllowed(const v1::ClassifyRequest& request) {
  return request.has_max_attention_bytes() ? request.max_attention_bytes() : kDefaultAttentionBytes;
}

int64_t BytesPerValue(v1::AttentionEncoding encoding) {
  switch (encoding) {
    case v1::UINT8:
      return 1;
    case v1::FLOAT32:
      return 4;
    default:
      return 2;
  }
}

void FillShape(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message) {
  message.set_kind(map.kind);
  message.set_layer(map.layer);
  message.set_head(map.head);
  message.set_rows(map.rows);
  message.set_columns(map.columns);
  message.set_encoding(encoding);
  message.set_diverging(map.diverging);
}

void EncodeAttention(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message) {
  FillShape(map, encoding, message);
  if (encoding == v1::UINT8) {
    float scale = 0;
    float offset = 0;
    message.set_values(EncodeByte(map.values, scale, offset));
    message.set_scale(scale);
    message.set_offset(offset);
  } else {
    message.set_values(encoding == v1::FLOAT32 ? EncodeFloat(map.values) : EncodeHalf(map.values));
  }
}

}  // namespace vitrine
