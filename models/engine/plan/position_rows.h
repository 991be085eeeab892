// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_POSITION_ROWS_H_
#define VITRINE_MODELS_ENGINE_PLAN_POSITION_ROWS_H_

#include <vector>

#include "common/simd/view.h"
#include "models/grid_interpolation.h"
#include "models/token_layout.h"

namespace vitrine::engine {

// Resizes a learned table [prefix + from.cells(), columns] to another grid: [prefix + to.cells(), columns]. The prefix
// rows (class tokens) are copied; the other rows are interpolated (models/grid_interpolation.h).
std::vector<float> TableRows(cpu::View<const float> table, int64_t prefix, Grid from, Grid to,
                             GridResize resize = GridResize::kAntialiased);

// Returns XCiT's position encodings, [cells, columns]. A linear map with `weight` [columns, 64] and `bias` is applied
// to the sines and cosines of each cell's position.
std::vector<float> FourierRows(cpu::View<const float> weight, const float* bias, Grid grid);

// Returns the terms that KV+Pos attention (program::Attend) adds to the scores. The term of a key is the inner product
// of KeyEncoding's row for the key (position_encodings.h) and the last weights of `map`.
std::vector<float> KeyOffsets(const std::vector<float>& map, int64_t keys);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_POSITION_ROWS_H_
