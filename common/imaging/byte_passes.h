// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_BYTE_PASSES_H_
#define VITRINE_COMMON_IMAGING_BYTE_PASSES_H_

#include <cstdint>

#include "common/imaging/row_resizer.h"

namespace vitrine {

// The two passes of the resize that rounds like Pillow: from bytes to bytes, with fixed-point weights. Each sum starts
// at one half, so that the following right shift rounds; the result is clamped to [0, 255]. The sum is exact, so the
// order of summation does not matter.

// Returns a weight with 22 fractional bits, rounded half away from zero.
int32_t FixedWeight(double weight);

// Filters along one row and writes filter.first.size() outputs of `channels` bytes each to `out`. `row` starts with the
// pixel at filter.begin. It has 1 or 3 interleaved channels, widened to int32_t, and one more readable value at its
// end. Requires filter.fixed.
void FilterAlong(const int32_t* row, const ResizeFilter& filter, int channels, uint8_t* out);

// Filters down `width` columns: out[x] is the sum of rows[t][x] * weights[t] for t from 0 to `count` - 1. `sums` has
// `width` elements.
void FilterDown(const uint8_t* const* rows, const int32_t* weights, int count, int width, int32_t* sums, uint8_t* out);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_BYTE_PASSES_H_
