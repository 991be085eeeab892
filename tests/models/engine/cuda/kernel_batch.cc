// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {

KernelBatch::KernelBatch(const std::vector<Grid>& grids, const cuda::emulated::MachineOptions& machine, int channels)
    : device_(machine), planes_(Planes(grids, channels)), rows_(planes_, 1) {
  const std::vector<int> counts = {rows_.count(), rows_.cells(), static_cast<int>(rows_.tiles.size())};
  batch_ = {
      .counts = buffers_.Copy(counts), .images = buffers_.Copy(rows_.images), .tiles = buffers_.Copy(rows_.tiles)};
}

std::vector<engine::ImagePlanes> KernelBatch::Planes(const std::vector<Grid>& grids, int channels) {
  std::vector<engine::ImagePlanes> planes;
  for (const Grid& grid : grids) {
    planes.push_back({.data = nullptr,
                      .channels = channels,
                      .height = static_cast<int>(grid.rows),
                      .width = static_cast<int>(grid.columns)});
  }
  return planes;
}

std::vector<float> KernelBatch::Numbers(size_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random_);
  return numbers;
}

cuda::Matrix KernelBatch::NewMatrix(cuda::RowsOf rows, int columns, int64_t stride, int64_t first) {
  if (stride == 0) stride = columns;
  const float* const data = Copy(Numbers(static_cast<size_t>(rows_.Rows(rows) * stride)));
  return {const_cast<float*>(data) + first, stride, columns, rows};
}

std::vector<float> KernelBatch::Read(const cuda::Matrix& matrix) {
  const int64_t count = (rows_.Rows(matrix.rows) - 1) * matrix.stride + matrix.columns;
  return Read<float>(matrix.data, static_cast<size_t>(count));
}

}  // namespace vitrine::testing
