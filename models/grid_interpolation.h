// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_GRID_INTERPOLATION_H_
#define VITRINE_MODELS_GRID_INTERPOLATION_H_

#include <vector>

#include "models/token_layout.h"

namespace vitrine {

// Weights for computing one new position from old positions: weights[i] is for old position first + i. The sum of the
// weights is 1.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

// Ways to resize a table of positions to another grid.
enum class GridResize {
  kAntialiased,    // the weights of CubicTaps
  kBicubic,        // PyTorch's bicubic interpolation (a = -3/4) without antialiasing; border values continue outside
  kBicubicOffset,  // kBicubic with the scale factor (to + 0.1) / from, as in DINOv2's own code
};

// Returns the weights of cubic interpolation (a = -1/2) from `from` to `to` positions, with antialiasing when
// downsampling. LibTorch and Pillow use the same weights along each axis.
std::vector<Taps> CubicTaps(int from, int to);
// Returns the weights of one axis for any kind of resize.
std::vector<Taps> TapsOf(GridResize resize, int from, int to);

// Returns the weights for both axes as a matrix [to.cells(), from.cells()]: a row per new cell, a column per old cell.
// NOTE: for grids with only one column of cells, LibTorch 2.11's _upsample_bicubic2d_aa returns other results: every
// row of the new grid gets the values of the first row of the new grid.
std::vector<float> InterpolationMatrix(GridResize resize, Grid from, Grid to);

}  // namespace vitrine

#endif  // VITRINE_MODELS_GRID_INTERPOLATION_H_
