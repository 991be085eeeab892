// SPDX-License-Identifier: Apache-2.0
// Matrices on an emulated device, for tests of single launches.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "models/engine/cuda/emulated/emulated_device.h"
#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/plan/step.h"
#include "tests/models/engine/cuda/narrow_numbers.h"

namespace vitrine::testing {

inline constexpr float kEpsilon = 1e-6F;  // of norms

inline std::vector<float> RandomFloats(size_t count, uint64_t seed, float scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline engine::FoldedMatrix RandomMatrix(int inputs, int outputs, Precision precision, uint64_t seed) {
  engine::FoldedMatrix matrix;
  matrix.inputs = inputs;
  matrix.outputs = outputs;
  matrix.precision = precision;
  matrix.weights = [inputs, outputs, seed] {
    return engine::LinearWeights{RandomFloats(static_cast<size_t>(inputs * outputs), seed, 0.2F),
                                 RandomFloats(static_cast<size_t>(outputs), seed + 1)};
  };
  return matrix;
}

// A device with a batch of images of one cell each, so that rows of cells are as many as there are.
class RowLaunches {
 public:
  explicit RowLaunches(int rows, const cuda::emulated::MachineOptions& machine = {})
      : device_(machine), buffers_(device_), rows_(rows) {
    std::vector<cuda::ImageRows> images;
    for (int i = 0; i <= rows; ++i)
      images.push_back({.first_pixel = 0, .height = 1, .width = 1, .first_cell = i, .grid_rows = 1, .grid_columns = 1});
    batch_ = {.counts = buffers_.Copy(std::vector<int>{rows, rows}), .images = buffers_.Copy(images)};
  }

  cuda::Batch batch() const { return batch_; }
  cuda::Buffers& buffers() { return buffers_; }

  // Puts the columns into the middle of wider rows.
  cuda::Matrix Upload(const std::vector<float>& values, int columns) {
    const cuda::Matrix matrix = Allocate(columns);
    for (int64_t i = 0; i < rows_; ++i) {
      EXPECT_TRUE(device_
                      .Upload(matrix.data + i * matrix.stride, &values[static_cast<size_t>(i * columns)],
                              static_cast<size_t>(columns) * sizeof(float))
                      .ok());
    }
    return matrix;
  }
  // Uploads the rounded values as a narrow matrix, whose rows have 8 more numbers.
  cuda::Matrix UploadNarrow(const std::vector<float>& values, int columns) {
    const std::vector<uint16_t> narrow = Bf16Of(values);
    const cuda::Matrix matrix = AllocateNarrow(columns);
    auto* const data = reinterpret_cast<uint16_t*>(matrix.data);
    for (int64_t i = 0; i < rows_; ++i) {
      EXPECT_TRUE(device_
                      .Upload(data + i * matrix.stride, &narrow[static_cast<size_t>(i * columns)],
                              static_cast<size_t>(columns) * sizeof(uint16_t))
                      .ok());
    }
    return matrix;
  }
  cuda::Matrix AllocateNarrow(int columns) {
    const int64_t stride = columns + 8;
    auto* const data = buffers_.Allocate<uint16_t>(static_cast<size_t>(rows_ * stride));
    return {reinterpret_cast<float*>(data), stride, columns, engine::RowsOf::kCells, /*narrow=*/true};
  }
  std::vector<float> DownloadNarrow(const cuda::Matrix& matrix) {
    std::vector<uint16_t> values(static_cast<size_t>(rows_ * matrix.columns));
    const auto* const data = reinterpret_cast<const uint16_t*>(matrix.data);
    for (int64_t i = 0; i < rows_; ++i) {
      EXPECT_TRUE(device_
                      .Download(&values[static_cast<size_t>(i * matrix.columns)], data + i * matrix.stride,
                                static_cast<size_t>(matrix.columns) * sizeof(uint16_t))
                      .ok());
    }
    return FloatsOfBf16(values);
  }
  cuda::Matrix Allocate(int columns) {
    constexpr int kBeside = 4;
    const int64_t stride = columns + 2 * kBeside;
    auto* const data = buffers_.Allocate<float>(static_cast<size_t>(rows_ * stride));
    return {data + kBeside, stride, columns, engine::RowsOf::kCells};
  }
  void Run(const cuda::Launch& launch) {
    const absl::Status status = device_.Run(launch);
    EXPECT_TRUE(status.ok()) << status;
  }
  std::vector<float> Download(const cuda::Matrix& matrix) {
    std::vector<float> values(static_cast<size_t>(rows_ * matrix.columns), NAN);
    for (int64_t i = 0; i < rows_; ++i) {
      EXPECT_TRUE(device_
                      .Download(&values[static_cast<size_t>(i * matrix.columns)], matrix.data + i * matrix.stride,
                                static_cast<size_t>(matrix.columns) * sizeof(float))
                      .ok());
    }
    return values;
  }
  // vitrine_row_statistics.
  const cuda::RowStatistics* Describe(const cuda::Matrix& x) {
    auto* const statistics = buffers_.Allocate<cuda::RowStatistics>(static_cast<size_t>(rows_));
    Run(MakeLaunch("statistics", "vitrine_row_statistics", cuda::StatisticsArguments{batch_, x, kEpsilon, statistics}));
    return statistics;
  }
  const cuda::emulated::Counters& counters() { return device_.machine().counters(); }

 private:
  cuda::emulated::EmulatedDevice device_;
  cuda::Buffers buffers_;
  const int64_t rows_;
  cuda::Batch batch_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_
