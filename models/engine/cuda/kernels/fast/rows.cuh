// SPDX-License-Identifier: Apache-2.0
// Kernels that compute each row separately, one row per warp (for statistics, several rows). Neighbouring lanes access
// neighbouring numbers, and a warp looks up the image of a row once. Results are bit-identical to those of the plain
// kernels.
//
// The kernels support any number of warps and use no shared memory. They are limited by memory bandwidth: each number
// is read once (sums over a row read it again from L1) and written once.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROWS_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROWS_CUH_

#include "models/engine/cuda/kernels/fast/row_tile.cuh"
#include "models/engine/cuda/kernels/fast/shapes.h"
#include "models/engine/cuda/kernels/rows.cuh"

namespace vitrine::cuda {

// Calls act(row) in all lanes of a warp, for this warp's share of the rows.
template <class Act>
VITRINE_DEVICE void ForRowsOfWarp(int rows, Act act) {
  const int warps = Threads() / kWarp;
  for (int row = Block() * warps + Thread() / kWarp; row < rows; row += Blocks() * warps) act(row);
}
// Calls act(i) for this lane's share of the groups of four columns; group i begins at column 4 i.
template <class Act>
VITRINE_DEVICE void ForFours(int columns, Act act) {
  for (int i = Lane(); i < columns / 4; i += kWarp) act(i);
}
VITRINE_DEVICE Global<Float4> FoursOf(const Matrix& matrix, int64_t row) {
  return ViewAs<Float4>(RowOf(matrix, row));
}

// --- sums over a row

// Computes SumOfRow of numbers.cuh by a warp; every lane gets the result. SumOfRow has two vectors of 16 partial sums.
// Each lane of the warp computes one of these 32 sums.
template <class Value>
VITRINE_DEVICE float SumOfRowByWarp(int columns, Value value) {
  const int lane = Lane(), pairs = columns / kWarp * kWarp, rest = columns - pairs;
  float sum = 0;
  for (int j = lane; j < pairs; j += kWarp) sum += value(j);
  // After the pairs of vectors, lanes 0 to 15 add the last whole vector, if there is one, and lanes 16 to 31 add the
  // remainder.
  const int last = pairs + (rest < kLanes ? lane - kLanes : lane);
  if (last >= pairs && last < columns) sum += value(last);
  for (int mask = kLanes; mask > 0; mask /= 2) sum += ShuffleXor(sum, mask);
  return sum;
}

VITRINE_DEVICE RowStatistics StatisticsOfRow(Global<const float> x, int columns, float epsilon) {
  const float center =
      SumOfRowByWarp(columns, [&](int j) { return static_cast<float>(x[j]); }) / static_cast<float>(columns);
  const float squares = SumOfRowByWarp(columns, [&](int j) {
    const float distance = x[j] - center;
    return distance * distance;
  });
  return {center, 1 / Root(squares / static_cast<float>(columns) + epsilon)};
}

// Computes the statistics of kRows rows at once, with at most 32 * kValues columns.
template <int kRows, int kValues>
VITRINE_DEVICE void DescribeRows(const StatisticsArguments& arguments) {
  const Global<RowStatistics> to(arguments.statistics);
  const int rows = Images(arguments.batch).Rows(arguments.x.rows), warps = Threads() / kWarp;
  for (int row = (Block() * warps + Thread() / kWarp) * kRows; row < rows; row += Blocks() * warps * kRows) {
    WarpRows<kRows, kValues> x;
    x.Load(arguments.x, row, rows);
    const RowStatistics statistics = x.Describe(arguments.x.columns, arguments.epsilon);
    const int of_lane = row + x.row_of_lane();
    if (x.lane % (kWarp / kRows) == 0 && of_lane < rows) to[of_lane] = statistics;
  }
}

VITRINE_KERNEL(vitrine_fast_row_statistics, StatisticsArguments) {
  const int columns = arguments.x.columns;
  if (columns % kLanes == 0 && columns <= 4 * kWarp) {
    DescribeRows<8, 4>(arguments);
    return;
  }
  if (columns % kLanes == 0 && columns <= 8 * kWarp) {
    DescribeRows<4, 8>(arguments);
    return;
  }
  const Global<RowStatistics> to(arguments.statistics);
  ForRowsOfWarp(Images(arguments.batch).Rows(arguments.x.rows), [&](int row) {
    const RowStatistics statistics = StatisticsOfRow(RowOf(arguments.x, row), arguments.x.columns, arguments.epsilon);
    if (Lane() == 0) to[row] = statistics;
  });
}

VITRINE_KERNEL(vitrine_fast_layer_norm, LayerNormArguments) {
  const Global<const float> weight(arguments.weight), bias(arguments.bias);
  ForRowsOfWarp(Images(arguments.batch).Rows(arguments.x.rows), [&](int row) {
    const Global<const float> x = RowOf(arguments.x, row);
    const Global<float> y = RowOf(arguments.y, row);
    const RowStatistics norm = StatisticsOfRow(x, arguments.x.columns, arguments.epsilon);
    for (int j = Lane(); j < arguments.x.columns; j += kWarp) {
      y[j] = Fma((x[j] - norm.center) * norm.scale, weight[j], bias[j]);
    }
  });
}

// --- independent numbers, four at a time; columns and strides are multiples of 4, rows are aligned to 16 bytes

VITRINE_KERNEL(vitrine_fast_affine, AffineArguments) {
  const Global<const Float4> scales = ViewAs<const Float4>(Global<const float>(arguments.scale));
  const Global<const Float4> shifts = ViewAs<const Float4>(Global<const float>(arguments.shift));
  ForRowsOfWarp(Images(arguments.batch).Rows(arguments.x.rows), [&](int row) {
    const Global<const Float4> from = FoursOf(arguments.x, row);
    const Global<Float4> to = FoursOf(arguments.y, row);
    ForFours(arguments.x.columns, [&](int i) {
      Float4 x = from[i];
      const Float4 scale = scales[i], shift = shifts[i];
      for (int j = 0; j < 4; ++j) x.v[j] = Activated(Fma(x.v[j], scale.v[j], shift.v[j]), arguments.activation, false);
      to[i] = x;
    });
  });
}

VITRINE_KERNEL(vitrine_fast_add, AddArguments) {
  ForRowsOfWarp(Images(arguments.batch).Rows(arguments.x.rows), [&](int row) {
    const Global<const Float4> xs = FoursOf(arguments.x, row), zs = FoursOf(arguments.z, row);
    const Global<Float4> to = FoursOf(arguments.y, row);
    ForFours(arguments.x.columns, [&](int i) {
      Float4 x = xs[i];
      const Float4 z = zs[i];
      for (int j = 0; j < 4; ++j) x.v[j] += z.v[j];
      to[i] = x;
    });
  });
}

VITRINE_KERNEL(vitrine_fast_copy_rows, CopyArguments) {
  const Images images(arguments.batch);
  ForRowsOfWarp(CountOfCopied(arguments, images), [&](int row) {
    const CopiedRow copied = CopiedRowOf(arguments, images, row);
    const Global<const Float4> from = FoursOf(arguments.x, copied.source);
    const Global<Float4> to = FoursOf(arguments.y, copied.target);
    ForFours(arguments.x.columns, [&](int i) { to[i] = from[i]; });
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROWS_CUH_
