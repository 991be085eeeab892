// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/kernel_batch.h"

#include <algorithm>
#include <cmath>

#include "common/simd/bf16.h"

namespace vitrine::testing {
namespace {

std::vector<uint16_t> Bf16Of(const std::vector<float>& values) {
  std::vector<uint16_t> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(),
                 [](float value) { return static_cast<uint16_t>(cpu::ToBf16(value)); });
  return narrow;
}

}  // namespace

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

std::vector<float> KernelBatch::Random(cuda::RowsOf rows, int columns, uint64_t seed) const {
  std::vector<float> values;
  for (int image = 0; image < rows_.count(); ++image) {
    std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(rows_.grids[static_cast<size_t>(image)].cells()));
    std::normal_distribution<float> normal;
    const int64_t count = (rows_.FirstRow(rows, image + 1) - rows_.FirstRow(rows, image)) * columns;
    for (int64_t i = 0; i < count; ++i) values.push_back(normal(random));
  }
  return values;
}

cuda::Matrix KernelBatch::Empty(cuda::RowsOf rows, int columns, int beside, bool narrow) {
  const int64_t stride = columns + 2 * beside;
  const auto count = static_cast<size_t>(rows_.Rows(rows) * stride);
  float* const data = narrow ? reinterpret_cast<float*>(buffers_.Allocate<uint16_t>(count) + beside)
                             : buffers_.Allocate<float>(count) + beside;
  return {data, stride, columns, rows, narrow};
}

cuda::Matrix KernelBatch::Put(const std::vector<float>& values, cuda::RowsOf rows, int columns, int beside,
                              bool narrow) {
  const cuda::Matrix matrix = Empty(rows, columns, beside, narrow);
  const std::vector<uint16_t> rounded = Bf16Of(values);
  const size_t bytes = narrow ? sizeof(uint16_t) : sizeof(float), row_bytes = static_cast<size_t>(columns) * bytes;
  const auto* const from =
      narrow ? reinterpret_cast<const std::byte*>(rounded.data()) : reinterpret_cast<const std::byte*>(values.data());
  auto* const to = reinterpret_cast<std::byte*>(matrix.data);
  for (size_t row = 0; row < static_cast<size_t>(rows_.Rows(rows)); ++row) {
    const size_t offset = row * static_cast<size_t>(matrix.stride) * bytes;
    EXPECT_TRUE(device_.Upload(to + offset, from + row * row_bytes, row_bytes).ok());
  }
  return matrix;
}

std::vector<float> KernelBatch::Get(const cuda::Matrix& matrix) {
  std::vector<float> values;
  const auto columns = static_cast<size_t>(matrix.columns);
  for (int64_t row = 0; row < rows_.Rows(matrix.rows); ++row) {
    const auto* const narrow = reinterpret_cast<const uint16_t*>(matrix.data) + row * matrix.stride;
    const std::vector<float> numbers = matrix.narrow ? FloatsOfBf16(Read<uint16_t>(narrow, columns))
                                                     : Read<float>(matrix.data + row * matrix.stride, columns);
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  return values;
}

std::vector<float> KernelBatch::Read(const cuda::Matrix& matrix) {
  const int64_t count = (rows_.Rows(matrix.rows) - 1) * matrix.stride + matrix.columns;
  return Read<float>(matrix.data, static_cast<size_t>(count));
}

std::vector<Grid> InOneRow(const std::vector<int>& cells) {
  std::vector<Grid> grids;
  for (const int count : cells) grids.push_back({1, count});
  return grids;
}

std::vector<float> FloatsOfBf16(const std::vector<uint16_t>& narrow) {
  std::vector<float> values(narrow.size());
  std::transform(narrow.begin(), narrow.end(), values.begin(),
                 [](uint16_t bits) { return cpu::ToFloat(cpu::Bf16{bits}); });
  return values;
}

std::vector<float> RoundedToBf16(const std::vector<float>& values) {
  return FloatsOfBf16(Bf16Of(values));
}

std::vector<float> Part(const std::vector<float>& rows, int columns, int64_t first, int64_t end, int first_column,
                        int width) {
  std::vector<float> part;
  for (int64_t row = first; row < end; ++row) {
    const auto begin = rows.begin() + row * columns + first_column;
    part.insert(part.end(), begin, begin + width);
  }
  return part;
}

namespace {

template <class Join>
double Joined(const std::vector<float>& ours, const std::vector<float>& theirs, Join join) {
  if (ours.size() != theirs.size()) return INFINITY;
  double largest = 0, joined = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(double{theirs[i]}));
    const double apart = std::abs(double{ours[i]} - theirs[i]);
    joined = std::isnan(apart) ? INFINITY : join(joined, apart);
  }
  return joined == 0 ? 0 : joined / largest;
}

}  // namespace

double MeanApart(const std::vector<float>& ours, const std::vector<float>& theirs) {
  return Joined(ours, theirs, [](double sum, double apart) { return sum + apart; }) / static_cast<double>(ours.size());
}
double MostApart(const std::vector<float>& ours, const std::vector<float>& theirs) {
  return Joined(ours, theirs, [](double most, double apart) { return std::max(most, apart); });
}

}  // namespace vitrine::testing
