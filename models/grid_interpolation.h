// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_GRID_INTERPOLATION_H_
#define VITRINE_MODELS_GRID_INTERPOLATION_H_

#include <vector>

#include "models/token_layout.h"

namespace vitrine {

// What one place of a row of the new length takes of the old: weights[i] of place first + i. They sum to 1.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

// Cubic interpolation (a = -1/2) of `from` places to `to`, smoothed where they become fewer: what LibTorch and Pillow
// call bicubic with antialiasing, along one side.
std::vector<Taps> CubicTaps(int from, int to);

// Both sides: what each cell of the new grid takes of each cell of the old, [to.cells(), from.cells()] row by row.
// NOTE: LibTorch 2.11's _upsample_bicubic2d_aa gives every row the values of the first for grids of one column.
std::vector<float> InterpolationMatrix(Grid from, Grid to);

}  // namespace vitrine

#endif  // VITRINE_MODELS_GRID_INTERPOLATION_H_
