// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_BATCH_ROWS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_BATCH_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/image_planes.h"
#include "models/token_layout.h"

namespace vitrine::cuda {

using engine::ImagePlanes;

// Limits of a batch, which determine the memory that a model needs.
struct BatchLimits {
  int images = 32;
  int cells = 8192;
  int64_t pixels = int64_t{4} << 20;  // channels * height * width of all images
};

// Images of a batch, with their rows and tiles, in host memory. A Batch has counts, images and tiles in device memory.
struct BatchRows {
  BatchRows(std::span<const ImagePlanes> planes, int cell, int prefix = 1);

  std::span<const ImagePlanes> planes;
  std::vector<ImageRows> images;  // by image, with an additional last entry as in Batch
  std::vector<Grid> grids;
  std::vector<GridTile> tiles;  // tiles of all grids
  int64_t pixels = 0;
  int prefix;  // rows of tokens before the cells of each image

  int count() const { return static_cast<int>(grids.size()); }
  int cells() const { return images.back().first_cell; }
  int64_t Rows(RowsOf rows) const { return FirstRow(rows, count()); }
  int64_t FirstRow(RowsOf rows, int image) const {
    if (rows == RowsOf::kImages) return image;
    return images[static_cast<size_t>(image)].first_cell + (rows == RowsOf::kTokens ? image * prefix : 0);
  }
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_BATCH_ROWS_H_
