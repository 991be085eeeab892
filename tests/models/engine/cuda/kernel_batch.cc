// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {

KernelBatch::KernelBatch(const std::vector<Grid>& grids, const cuda::emulated::MachineOptions& machine)
    : device_(machine), planes_(Planes(grids)), rows_(planes_, 1) {
  batch_ = {.counts = buffers_.Copy(std::vector<int>{rows_.count(), rows_.cells()}),
            .images = buffers_.Copy(rows_.images)};
}

std::vector<engine::ImagePlanes> KernelBatch::Planes(const std::vector<Grid>& grids) {
  std::vector<engine::ImagePlanes> planes;
  for (const Grid& grid : grids) {
    planes.push_back({.data = nullptr,
                      .channels = 1,
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
