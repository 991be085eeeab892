// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/patches.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

namespace vitrine {
namespace {

// Cuts one image [C, H, W] into rows of [P * P * C] values at `out`.
void CutPatches(const at::Tensor& image, Grid grid, int patch, float* out) {
  const int64_t channels = image.size(0);
  const int64_t width = image.size(2);
  const int64_t plane = image.size(1) * width;
  const float* pixels = image.const_data_ptr<float>();
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      for (int y = 0; y < patch; ++y) {
        const float* line = pixels + (int64_t{row} * patch + y) * width + int64_t{column} * patch;
        for (int x = 0; x < patch; ++x) {
          for (int64_t c = 0; c < channels; ++c) *out++ = line[c * plane + x];
        }
      }
    }
  }
}

at::Tensor PatchesOnCpu(const ImageBatch& images, const std::vector<Grid>& grids, int patch) {
  std::vector<int64_t> first{0};
  for (const Grid& grid : grids) first.push_back(first.back() + grid.cells());
  const int64_t size = images[0].size(0) * patch * patch;
  at::Tensor patches = at::empty({first.back(), size}, at::kFloat);
  float* values = patches.data_ptr<float>();
  at::parallel_for(0, static_cast<int64_t>(images.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CutPatches(images[i].contiguous(), grids[i], patch, values + first[i] * size);
    }
  });
  return patches;
}

// Converts [C, H, W] to [cells, P * P * C], on any device.
at::Tensor PatchesOf(const at::Tensor& image, Grid grid, int patch) {
  return image.narrow(1, 0, int64_t{grid.rows} * patch)
      .narrow(2, 0, int64_t{grid.columns} * patch)
      .reshape({image.size(0), grid.rows, patch, grid.columns, patch})
      .permute({1, 3, 2, 4, 0})
      .reshape({grid.cells(), -1});
}

}  // namespace

std::vector<Grid> GridsOf(const ImageBatch& images, int cell) {
  std::vector<Grid> grids;
  grids.reserve(images.size());
  for (const at::Tensor& image : images) {
    grids.push_back({static_cast<int>(image.size(1) / cell), static_cast<int>(image.size(2) / cell)});
  }
  return grids;
}

at::Tensor PatchRows(const ImageBatch& images, int patch, const ForwardContext& context) {
  const std::vector<Grid> grids = GridsOf(images, patch);
  if (images[0].is_cpu() && !context.library_only) return PatchesOnCpu(images, grids, patch);
  std::vector<at::Tensor> patches;
  for (size_t i = 0; i < images.size(); ++i) patches.push_back(PatchesOf(images[i], grids[i], patch));
  return at::cat(patches);
}

}  // namespace vitrine
