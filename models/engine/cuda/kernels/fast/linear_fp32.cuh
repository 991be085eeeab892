// SPDX-License-Identifier: Apache-2.0
// Linear layers in fp32, bit-identical to the plain kernel.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_FP32_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_FP32_CUH_

#include "models/engine/cuda/kernels/fast/linear_tiles.h"
#include "models/engine/cuda/kernels/linear.cuh"

namespace vitrine::cuda {

// A block of 128 threads that computes 64 rows by 64 outputs, 8 x 4 in each thread. Shared memory (35 kB) is
// double-buffered: each half holds 32 columns of x and 32 rows of weights. A thread reads 16 bytes twelve times for 128
// multiply-adds. x is read once per 64 outputs, and weights once per 64 rows, from the L2 cache. The multiply-adds of
// the CUDA cores limit the speed.
class LinearFp32Block {
 public:
  VITRINE_DEVICE explicit LinearFp32Block(const LinearArguments& arguments)
      : arguments_(arguments), rows_(Images(arguments.batch).Rows(arguments.x.rows)) {}

  VITRINE_DEVICE void Run() {
    const int row_tiles = (rows_ + Tiles::kRows - 1) / Tiles::kRows;
    const int tiles = (arguments_.y.columns + Tiles::kColumns - 1) / Tiles::kColumns;
    for (int item = Block(); item < row_tiles * tiles; item += Blocks()) {
      RunTile(item / tiles * Tiles::kRows, item % tiles * Tiles::kColumns);
    }
  }

 private:
  using Tiles = LinearFp32Tiles;
  static constexpr int kXVectors = Tiles::kRows * Tiles::kStep / 4 / Tiles::kThreads;  // Float4 of x per thread
  static constexpr int kThreadRows = 8;                                                // rows of a thread, 4 apart
  using Sums = float[kThreadRows][4];

  // Return the first row and column of this thread in a tile.
  VITRINE_DEVICE int row() const { return Thread() / (2 * kWarp) * 32 + Lane() / 8; }
  VITRINE_DEVICE int column() const { return Thread() / kWarp % 2 * 32 + Lane() % 8 * 4; }
  static VITRINE_DEVICE Shared<float> X(int stage) { return SharedMemory<float>(stage * Tiles::kStageBytes); }
  static VITRINE_DEVICE Shared<float> Weights(int stage) {
    return SharedMemory<float>(stage * Tiles::kStageBytes + Tiles::kXBytes);
  }

  VITRINE_DEVICE void RunTile(int first_row, int first_column) const {
    Sums sums;
    Begin(first_column + column(), sums);
    SyncBlock();  // all threads have finished with the previous tile
    Float4 x[kXVectors];
    LoadX(first_row, 0, x);
    CopyWeights(0, first_column, 0);
    StoreX(0, x);
    const int inputs = arguments_.x.columns;
    for (int k = 0, stage = 0; k < inputs; k += Tiles::kStep, stage ^= 1) {
      WaitCopies<0>();
      SyncBlock();
      const bool has_next = k + Tiles::kStep < inputs;
      if (has_next) {
        LoadX(first_row, k + Tiles::kStep, x);
        CopyWeights(k + Tiles::kStep, first_column, stage ^ 1);
      }
      AddProducts(stage, inputs - k < Tiles::kStep ? inputs - k : Tiles::kStep, sums);
      if (has_next) StoreX(stage ^ 1, x);
    }
    Finish(first_row + row(), first_column + column(), sums);
  }

  // Starts the sums with the bias.
  VITRINE_DEVICE void Begin(int column, Sums& sums) const {
    Float4 bias = {};
    if (column < arguments_.y.columns) bias = ViewAs<const Float4>(Global<const float>(arguments_.bias) + column)[0];
    VITRINE_UNROLL
    for (int i = 0; i < 4 * kThreadRows; ++i) sums[i / 4][i % 4] = bias.v[i % 4];
  }

  // Loads 4 columns of each of 4 rows of a tile, and normalizes them.
  VITRINE_DEVICE void LoadX(int first_row, int k, Float4 (&x)[kXVectors]) const {
    const Global<const RowStatistics> statistics(arguments_.statistics);
    const int column = k + Thread() % 8 * 4;
    VITRINE_UNROLL
    for (int i = 0; i < kXVectors; ++i) {
      const int row = first_row + Thread() / 8 + i * (Tiles::kThreads / 8);
      x[i] = {};
      if (row >= rows_ || column >= arguments_.x.columns) continue;
      x[i] = ViewAs<const Float4>(RowOf(arguments_.x, row) + column)[0];
      if (arguments_.statistics == nullptr) continue;
      const RowStatistics norm = statistics[row];
      VITRINE_UNROLL
      for (int j = 0; j < 4; ++j) x[i].v[j] = (x[i].v[j] - norm.center) * norm.scale;
    }
  }
  VITRINE_DEVICE void StoreX(int stage, const Float4 (&x)[kXVectors]) const {
    VITRINE_UNROLL
    for (int i = 0; i < kXVectors; ++i) {
      const int row = Thread() / 8 + i * (Tiles::kThreads / 8);
      ViewAs<Float4>(X(stage) + (row * Tiles::kXStride + Thread() % 8 * 4))[0] = x[i];
    }
  }
  VITRINE_DEVICE void CopyWeights(int k, int first_column, int stage) const {
    const Global<const float> weights(static_cast<const float*>(arguments_.weights));
    const int at = Thread() % 16 * 4, column = first_column + at;
    VITRINE_UNROLL
    for (int i = 0; i < Tiles::kStep; i += Tiles::kThreads / 16) {
      const int row = Thread() / 16 + i;
      const bool valid = k + row < arguments_.x.columns && column < arguments_.y.columns;
      const int64_t from = valid ? int64_t{k + row} * arguments_.y.columns + column : 0;
      CopyAsync(Weights(stage) + (row * Tiles::kColumns + at), weights + from, valid);
    }
    CommitCopies();
  }

  VITRINE_DEVICE void AddProducts(int stage, int steps, Sums& sums) const {
    const Shared<const Float4> x = ViewAs<const Float4>(X(stage) + row() * Tiles::kXStride);
    const Shared<const Float4> weights = ViewAs<const Float4>(Weights(stage) + column());
    for (int k = 0; k < steps; k += 4) {
      Float4 left[kThreadRows];
      VITRINE_UNROLL
      for (int i = 0; i < kThreadRows; ++i) left[i] = x[i * Tiles::kXStride + k / 4];
      VITRINE_UNROLL
      for (int j = 0; j < 4; ++j) {
        const Float4 right = weights[(k + j) * (Tiles::kColumns / 4)];
        VITRINE_UNROLL
        for (int i = 0; i < 4 * kThreadRows; ++i) {
          sums[i / 4][i % 4] = Fma(left[i / 4].v[j], right.v[i % 4], sums[i / 4][i % 4]);
        }
      }
    }
  }

  VITRINE_DEVICE void Finish(int row, int column, const Sums& sums) const {
    if (column >= arguments_.y.columns) return;
    VITRINE_UNROLL
    for (int i = 0; i < kThreadRows; ++i) {
      if (row + 4 * i >= rows_) continue;
      Float4 added = {}, values;
      const bool has_residual = arguments_.residual.data != nullptr;
      if (has_residual) added = ViewAs<const Float4>(RowOf(arguments_.residual, row + 4 * i) + column)[0];
      VITRINE_UNROLL
      for (int j = 0; j < 4; ++j) {
        const float value = ActivatedProduct(sums[i][j], arguments_.activation, false);
        values.v[j] = has_residual ? added.v[j] + value : value;
      }
      ViewAs<Float4>(RowOf(arguments_.y, row + 4 * i) + column)[0] = values;
    }
  }

  const LinearArguments& arguments_;
  const int rows_;  // number of rows in the batch
};

VITRINE_BOUNDED_KERNEL(vitrine_fast_linear_fp32, LinearArguments, LinearFp32Tiles::kThreads, 4) {
  LinearFp32Block(arguments).Run();
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_FP32_CUH_
