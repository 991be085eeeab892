// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_BYTE_PASSES_H_
#define VITRINE_COMMON_IMAGING_BYTE_PASSES_H_

#include <cstdint>

#include "common/imaging/row_resizer.h"

namespace vitrine {

// Passes of the resize that rounds as Pillow does: from bytes to bytes, with fixed-point weights. A sum starts at one
// half, is shifted right and clamped to [0, 255]; it is exact, so its order does not matter.

// Returns a weight with 22 fractional bits, rounded half away from zero.
int32_t FixedWeight(double weight);

// Filters along one row: writes filter.first.size() outputs of `channels` bytes each to `out`. `row` has the bytes from
// filter.begin on, widened, 1 or 3 interleaved channels, and one more readable value. Requires filter.fixed.
void FilterAlong(const int32_t* row, const ResizeFilter& filter, int channels, uint8_t* out);

// Filters down `width` columns: out[x] is the sum of rows[t][x] * weights[t] over t below `count`. `sums` has `width`
// elements.
void FilterDown(const uint8_t* const* rows, const int32_t* weights, int count, int width, int32_t* sums, uint8_t* out);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_BYTE_PASSES_H_
