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
// Encodes as IEEE 754 binary16, rounded to nearest even; overflow becomes infinity.
std::string EncodeHalf(std::span<const float> values);

// Converts to IEEE 754 binary16, rounded to nearest even; overflow becomes infinity.
uint16_t ToHalf(float value);

// Default and largest limit of the bytes of attention values and features in an answer.
inline constexpr int64_t kDefaultAttentionBytes = int64_t{1} << 20;
inline constexpr int64_t kMaxAttentionBytes = int64_t{16} << 20;
// Returns max_attention_bytes of a request, or its default.
int64_t AttentionBytesAllowed(const v1::ClassifyRequest& request);

// Returns the bytes of one value on the wire. Requires FLOAT16, UINT8 or FLOAT32.
int64_t BytesPerValue(v1::AttentionEncoding encoding);

// Writes kind, layer, head and shape of `map` into `message`, and `encoding`, but no values.
void FillShape(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message);

// Writes `map` into `message` in `encoding`: kind, layer, head, shape, values, scale and offset. FLOAT16 rounds to
// nearest even; UINT8 spans the map's own minimum to maximum, so that an error is at most half a step. Requires
// FLOAT16, UINT8 or FLOAT32.
void EncodeAttention(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_ATTENTION_ENCODING_H_
