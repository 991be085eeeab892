// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_EXECUTION_ATTENTION_ENCODING_H_
#define VITRINE_SERVER_EXECUTION_ATTENTION_ENCODING_H_

#include <cstdint>
#include <span>

#include "models/attention_maps.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// Bytes of one value on the wire. Requires FLOAT16, UINT8 or FLOAT32.
int64_t BytesPerValue(v1::AttentionEncoding encoding);

// Writes `map` into `message` in `encoding`: kind, layer, head, shape, values, scale and offset.
// FLOAT16 rounds to nearest even; UINT8 spans the map's own minimum to maximum, so that an error is at most half a
// step. Requires FLOAT16, UINT8 or FLOAT32.
void EncodeAttention(const AttentionMap& map, v1::AttentionEncoding encoding, v1::AttentionMap& message);

}  // namespace vitrine

#endif  // VITRINE_SERVER_EXECUTION_ATTENTION_ENCODING_H_
