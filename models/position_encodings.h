// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_POSITION_ENCODINGS_H_
#define VITRINE_MODELS_POSITION_ENCODINGS_H_

#include <cstdint>

#include "models/float_array.h"

namespace vitrine {

// Returns Fourier features of one coordinate for each of its `count` positions: [count, 32]. With v = 2 pi * (position
// + 1) / (count + 1e-6) and T_k = 10000^(2 floor(k / 2) / 32), channel k is sin(v / T_k) for even k and cos(v / T_k)
// for odd k. XCiT multiplies the features of row and column by a matrix and has no table, so its positions work for any
// grid.
FloatArray FourierEncoding(int count);

// Returns the part of KV+Pos's positional tensor that depends only on the key: [keys, m - q], with m = `channels` and q
// = 2 ceil(m / 4). For query i and key j, the m channels of the tensor are the first m of [E(i), E(j)], where E has q
// channels. This part is the last m - q channels. E(t) = [sin(t * w_0), cos(t * w_0), sin(t * w_1), ...], w_k =
// 10000^(-2k/q).
FloatArray KeyEncoding(int64_t keys, int64_t channels);

}  // namespace vitrine

#endif  // VITRINE_MODELS_POSITION_ENCODINGS_H_
