// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/attention_rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "tests/models/engine/cuda/narrow_numbers.h"

namespace vitrine::testing {

using cuda::Matrix;
using cuda::RowsOf;

AttentionRig::AttentionRig(std::vector<int> cells, const cuda::emulated::MachineOptions& options)
    : cells_(std::move(cells)), device_(options), buffers_(device_) {
  std::vector<cuda::ImageRows> rows;
  int first_cell = 0;
  for (const int count : cells_) {
    rows.push_back({0, 0, 0, first_cell, 1, count});
    first_cell += count;
  }
  rows.push_back({0, 0, 0, first_cell, 0, 0});
  batch_ = {buffers_.Copy(std::vector<int>{images(), first_cell}), buffers_.Copy(rows)};
}

int64_t AttentionRig::FirstRow(RowsOf rows, int image) const {
  int64_t first = rows == RowsOf::kCells ? 0 : image;
  for (int i = 0; i < image && rows != RowsOf::kImages; ++i) first += cells_[static_cast<size_t>(i)];
  return first;
}

std::vector<float> AttentionRig::Random(RowsOf rows, int columns, uint64_t seed) const {
  std::vector<float> values;
  for (int image = 0; image < images(); ++image) {
    std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(cells_[static_cast<size_t>(image)]));
    std::normal_distribution<float> normal;
    const int64_t count = (FirstRow(rows, image + 1) - FirstRow(rows, image)) * columns;
    for (int64_t i = 0; i < count; ++i) values.push_back(normal(random));
  }
  return values;
}

Matrix AttentionRig::Upload(const std::vector<float>& values, RowsOf rows, int columns) {
  float* const data = buffers_.Allocate<float>(values.size());
  EXPECT_TRUE(device_.Upload(data, values.data(), values.size() * sizeof(float)).ok());
  return {data, columns, columns, rows};
}

Matrix AttentionRig::UploadNarrow(const std::vector<float>& values, RowsOf rows, int columns) {
  const std::vector<uint16_t> narrow = Bf16Of(values);
  auto* const data = buffers_.Allocate<uint16_t>(narrow.size());
  EXPECT_TRUE(device_.Upload(data, narrow.data(), narrow.size() * sizeof(uint16_t)).ok());
  return {reinterpret_cast<float*>(data), columns, columns, rows, /*narrow=*/true};
}

std::vector<float> AttentionRig::DownloadNarrow(const Matrix& from) {
  std::vector<uint16_t> narrow(static_cast<size_t>(Rows(from.rows) * from.stride));
  EXPECT_TRUE(device_.Download(narrow.data(), from.data, narrow.size() * sizeof(uint16_t)).ok());
  return FloatsOfBf16(narrow);
}

Matrix AttentionRig::Empty(RowsOf rows, int columns) {
  return {buffers_.Allocate<float>(static_cast<size_t>(Rows(rows) * columns)), columns, columns, rows};
}

std::vector<float> AttentionRig::Download(const float* from, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  EXPECT_TRUE(device_.Download(values.data(), from, values.size() * sizeof(float)).ok());
  return values;
}

void AttentionRig::Run(const cuda::Launch& launch) {
  const absl::Status status = device_.Run(launch);
  EXPECT_TRUE(status.ok()) << status;
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

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
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
