// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_

#include <ATen/core/Tensor.h>

#include "models/token_layout.h"

namespace vitrine {

// Returns FourierEncoding as a tensor, [count, 32] fp32.
at::Tensor FourierFeatures(int count);

// Returns 32 features of the row, then 32 of the column, of every cell: [cells, 64] fp32.
at::Tensor FourierFeaturesOf(Grid grid);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_FOURIER_POSITIONS_H_
