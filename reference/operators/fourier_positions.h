// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_
#define VITRINE_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_

#include <ATen/core/Tensor.h>

#include "models/token_layout.h"

namespace vitrine {

// Fourier features of one coordinate, for every of its `count` places: [count, 32] fp32. The coordinate runs to 2 pi,
// v = 2 pi (place + 1) / (count + 1e-6); channel k is sin(v / T_k) for even k and cos(v / T_k) for odd k, with
// T_k = 10000^(2 floor(k / 2) / 32). XCiT's positions are these times a matrix: no table, so any grid will do.
at::Tensor FourierFeatures(int count);

// 32 features of the row, then 32 of the column, of every cell: [cells, 64] fp32.
at::Tensor FourierFeaturesOf(Grid grid);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_
