// SPDX-License-Identifier: Apache-2.0
// Kernels that gather rows of cells: pixels of patches, and neighbourhoods in the grid. Results are bit-identical to
// those of the plain kernels.
//
// The kernels support any number of warps and use no shared memory. They are limited by memory bandwidth: patchify
// reads and writes 602 KB for an image of 224 x 224. The numbers of columns are multiples of 4; rows of y are aligned
// to 16 bytes.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PATCHES_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PATCHES_CUH_

#include "models/engine/cuda/kernels/fast/rows.cuh"

namespace vitrine::cuda {

// Copies pixels. A warp writes the same 128 columns of many cells, so that a lane computes the place of its four
// numbers in a patch only once.
VITRINE_KERNEL(vitrine_fast_patchify, PatchifyArguments) {
  const Images images(arguments.batch);
  const int channels = arguments.channels, patch = arguments.patch;
  const int warps = Threads() / kWarp, groups = (arguments.y.columns + 4 * kWarp - 1) / (4 * kWarp);
  const int first = Block() * warps + Thread() / kWarp, step = Blocks() * warps;
  for (int group = 0; group < groups; ++group) {
    const int four = group * kWarp + Lane();
    if (4 * four >= arguments.y.columns) continue;
    int channel[4], row[4], column[4];
    VITRINE_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int place = (4 * four + j) / channels;
      channel[j] = (4 * four + j) % channels;
      row[j] = place / patch;
      column[j] = place % patch;
    }
    for (int i = first; i < images.Rows(RowsOf::kCells); i += step) {
      const int image = images.ImageOf(RowsOf::kCells, i), cell = i - images.FirstCell(image);
      const ImageRows of = images.Of(image);
      const int y = cell / of.grid_columns * patch, x = cell % of.grid_columns * patch;
      const Global<const float> pixels(arguments.pixels + of.first_pixel + (int64_t{y} * of.width + x));
      Float4 numbers;
      VITRINE_UNROLL
      for (int j = 0; j < 4; ++j) {
        numbers.v[j] = pixels[int64_t{channel[j]} * of.height * of.width + (row[j] * of.width + column[j])];
      }
      if (arguments.y.narrow) {
        ViewAs<Words2>(NarrowRowOf(arguments.y, i))[four] = {
            {PackBf16(numbers.v[0], numbers.v[1]), PackBf16(numbers.v[2], numbers.v[3])}};
      } else {
        FoursOf(arguments.y, i)[four] = numbers;
      }
    }
  }
}

VITRINE_KERNEL(vitrine_fast_gather_neighbours, GatherArguments) {
  const Images images(arguments.batch);
  const int fours = arguments.x.columns / 4;
  ForRowsOfWarp(images.Rows(RowsOf::kCells), [&](int i) {
    const int image = images.ImageOf(RowsOf::kCells, i), cell = i - images.FirstCell(image);
    const ImageRows of = images.Of(image);
    const int first = images.RowOfCell(arguments.x.rows, image, 0);
    const Global<Float4> to = FoursOf(arguments.y, i);
    for (int k = 0; k < 9; ++k) {
      const int row = cell / of.grid_columns + k / 3 - 1, column = cell % of.grid_columns + k % 3 - 1;
      const bool inside = row >= 0 && row < of.grid_rows && column >= 0 && column < of.grid_columns;
      ForFours(arguments.x.columns, [&](int four) {
        Float4 numbers = {};
        if (inside) numbers = FoursOf(arguments.x, first + row * of.grid_columns + column)[four];
        to[k * fours + four] = numbers;
      });
    }
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PATCHES_CUH_
