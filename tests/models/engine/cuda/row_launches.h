// SPDX-License-Identifier: Apache-2.0
// Matrices on an emulated device, for tests of kernels that process rows.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/plan/step.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {

inline constexpr float kEpsilon = 1e-6F;  // epsilon of LayerNorms

inline std::vector<float> RandomFloats(size_t count, uint64_t seed, float scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
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

// A batch of `rows` images with one cell each, so that any number of matrix rows is possible. Each matrix has kBeside
// unused columns on each side.
class RowLaunches : public KernelBatch {
 public:
  explicit RowLaunches(int rows, const cuda::emulated::MachineOptions& machine = {})
      : KernelBatch(std::vector<Grid>(static_cast<size_t>(rows), Grid{1, 1}), machine) {}

  cuda::Matrix Upload(const std::vector<float>& values, int columns, bool narrow = false) {
    return Put(values, engine::RowsOf::kCells, columns, kBeside, narrow);
  }
  cuda::Matrix Allocate(int columns, bool narrow = false) {
    return Empty(engine::RowsOf::kCells, columns, kBeside, narrow);
  }
  // Returns the mean and scale of each row, computed by the kernel vitrine_row_statistics.
  const cuda::RowStatistics* Describe(const cuda::Matrix& x) {
    auto* const statistics = buffers().Allocate<cuda::RowStatistics>(static_cast<size_t>(rows().cells()));
    Run("vitrine_row_statistics", cuda::StatisticsArguments{batch(), x, kEpsilon, statistics});
    return statistics;
  }

 private:
  static constexpr int kBeside = 8;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_ROW_LAUNCHES_H_
