// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_POSITION_ROWS_H_
#define VITRINE_ENGINE_CPU_POSITION_ROWS_H_

#include <vector>

#include "base/simd/view.h"
#include "models/token_layout.h"

namespace vitrine::engine {

// A learned table [prefix + from.cells(), columns] for another grid: [prefix + to.cells(), columns]. The rows before
// the cells', of class tokens, stay; the others are interpolated (models/grid_interpolation.h).
std::vector<float> TableRows(cpu::View<const float> table, int64_t prefix, Grid from, Grid to);

// XCiT's sines and cosines of every cell's place, mapped by weight [columns, 64] and bias: [cells, columns].
std::vector<float> FourierRows(cpu::View<const float> weight, const float* bias, Grid grid);

// KV+Pos: what the learned weights of a map add to the logits of each key, for `keys` keys. The positions' weights are
// the last of the map's.
std::vector<float> KeyOffsets(const std::vector<float>& map, int64_t keys);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_POSITION_ROWS_H_
