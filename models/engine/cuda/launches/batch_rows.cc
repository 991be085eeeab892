// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/batch_rows.h"

#include "models/engine/cuda/kernels/fast/shapes.h"

namespace vitrine::cuda {

BatchRows::BatchRows(std::span<const ImagePlanes> planes_of_batch, int cell, int prefix_of_batch)
    : planes(planes_of_batch), prefix(prefix_of_batch) {
  int first_cell = 0;
  for (const ImagePlanes& image : planes) {
    const Grid grid = cell == 0 ? Grid() : Grid{image.height / cell, image.width / cell};
    grids.push_back(grid);
    images.push_back({.first_pixel = pixels,
                      .height = image.height,
                      .width = image.width,
                      .first_cell = first_cell,
                      .grid_rows = grid.rows,
                      .grid_columns = grid.columns});
    for (int row = 0; row < grid.rows; row += kTileSide) {
      for (int column = 0; column < grid.columns; column += kTileSide) {
        tiles.push_back({.row = row,
                         .column = column,
                         .image = static_cast<int>(images.size()) - 1,
                         .first_cell = first_cell,
                         .rows = grid.rows,
                         .columns = grid.columns});
      }
    }
    first_cell += static_cast<int>(grid.cells());
    pixels += int64_t{image.channels} * image.height * image.width;
  }
  images.push_back(
      {.first_pixel = pixels, .height = 0, .width = 0, .first_cell = first_cell, .grid_rows = 0, .grid_columns = 0});
}

}  // namespace vitrine::cuda
