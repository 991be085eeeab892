// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/attention_encoding.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "server/serve/execution/number_encoding.h"

namespace vitrine {
namespace {

std::string EncodeByte(std::span<const float> values, float& scale, float& offset) {
  if (values.empty()) return {};
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

void EncodeAttention(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message) {
  message.set_kind(map.kind);
  message.set_layer(map.layer);
  message.set_head(map.head);
  message.set_rows(map.rows);
  message.set_columns(map.columns);
  message.set_encoding(encoding);
  message.set_diverging(map.diverging);
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
