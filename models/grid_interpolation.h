// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_GRID_INTERPOLATION_H_
#define VITRINE_MODELS_GRID_INTERPOLATION_H_

#include <vector>

#include "models/token_layout.h"

namespace vitrine {

// Weights of one new position on the old ones: weights[i] for position first + i. They sum to 1.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

// Cubic interpolation (a = -1/2) of `from` positions to `to`, smoothed when downsampling: one side of the bicubic
// filter with antialiasing of LibTorch and Pillow.
std::vector<Taps> CubicTaps(int from, int to);

// Returns the weights of both sides, new cells by old ones: [to.cells(), from.cells()], row by row.
// NOTE: LibTorch 2.11's _upsample_bicubic2d_aa gives every row the values of the first for grids of one column.
std::vector<float> InterpolationMatrix(Grid from, Grid to);

}  // namespace vitrine

#endif  // VITRINE_MODELS_GRID_INTERPOLATION_H_
