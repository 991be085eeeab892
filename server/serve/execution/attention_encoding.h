// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_ATTENTION_ENCODING_H_
#define VITRINE_SERVER_SERVE_EXECUTION_ATTENTION_ENCODING_H_

#include <cstdint>
#include <span>
#include <string>

#include "models/attention_maps.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Encodes floats for the wire, little-endian.
std::string EncodeFloat(std::span<const float> values);
// Encodes floats as IEEE 754 binary16, rounded to nearest even; overflow becomes infinity.
std::string EncodeHalf(std::span<const float> values);

// Converts a float to IEEE 754 binary16, rounded to nearest even; overflow becomes infinity.
uint16_t ToHalf(float value);

// Default and maximum of a request's max_attention_bytes. This field limits the bytes of attention values and features
// in the answer.
inline constexpr int64_t kDefaultAttentionBytes = int64_t{1} << 20;
inline constexpr int64_t kMaxAttentionBytes = int64_t{16} << 20;
// Returns the request's max_attention_bytes, or the default.
int64_t AttentionBytesAllowed(const v1::ClassifyRequest& request);

// Returns the number of bytes per value on the wire. Requires FLOAT16, UINT8 or FLOAT32.
int64_t BytesPerValue(v1::AttentionEncoding encoding);

// Copies kind, layer, head, shape and `diverging` from `map` to `message`, and sets its encoding. Writes no values.
void FillShape(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message);

// Writes `map` into `message` in `encoding`: the fields of FillShape, the values and, for UINT8, scale and offset.
// FLOAT16 rounds to nearest even. UINT8 maps the map's minimum and maximum to 0 and 255, so the error is at most half a
// quantization step. Requires FLOAT16, UINT8 or FLOAT32.
void EncodeAttention(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_ATTENTION_ENCODING_H_
