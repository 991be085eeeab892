// SPDX-License-Identifier: Apache-2.0
// Tests that the fast and the plain kernels for operations on rows give the same bits, with any number of SMs and under
// any schedule.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/kernels/fast/shapes.h"
#include "models/engine/cuda/launches/fast_kernels.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::Activation;
using cuda::CopiedRows;
using cuda::Matrix;
using cuda::RowsOf;

const std::vector<std::vector<Grid>> kRowBatches = {{{1, 1}}, {{3, 5}, {1, 1}, {2, 7}}, {{12, 11}, {1, 2}}};

TEST(CudaFastRows, StatisticsEqualThePlainKernel) {
  for (const int columns : {1, 5, 15, 16, 17, 31, 32, 33, 47, 48, 50, 63, 64, 96, 128, 130, 192, 197}) {
    ExpectEqualBits(kRowBatches, absl::StrCat("statistics of ", columns), [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(RowsOf::kTokens, columns, columns + 3, 1);
      auto* const statistics = batch.buffers().Allocate<cuda::RowStatistics>(size_t(batch.rows().Rows(x.rows)));
      batch.Run(fast ? "vitrine_fast_row_statistics" : "vitrine_row_statistics",
                cuda::StatisticsArguments{batch.batch(), x, 1e-6F, statistics});
      return batch.Read(&statistics->center, 2 * static_cast<size_t>(batch.rows().Rows(x.rows)));
    });
  }
}

TEST(CudaFastRows, LayerNormEqualsThePlainKernel) {
  for (const int columns : {3, 33, 128, 192}) {
    ExpectEqualBits(kRowBatches, absl::StrCat("norm of ", columns), [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(RowsOf::kTokens, columns), y = batch.NewMatrix(x.rows, columns, columns + 4);
      const float* const weight = batch.Copy(batch.Numbers(size_t(columns)));
      const float* const bias = batch.Copy(batch.Numbers(size_t(columns)));
      if (fast) {
        batch.Run("vitrine_fast_layer_norm", cuda::LayerNormArguments{batch.batch(), x, y, 1e-6F, weight, bias});
      } else {
        auto* const statistics = batch.buffers().Allocate<cuda::RowStatistics>(size_t(batch.rows().Rows(x.rows)));
        batch.Run("vitrine_row_statistics", cuda::StatisticsArguments{batch.batch(), x, 1e-6F, statistics});
        batch.Run("vitrine_affine",
                  cuda::AffineArguments{batch.batch(), x, y, statistics, weight, bias, Activation::kNone});
      }
      return batch.Read(y);
    });
  }
}

TEST(CudaFastRows, ElementwiseStepsEqualThePlainKernels) {
  for (const int columns : {4, 36, 260}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu}) {
      ExpectEqualBits(kRowBatches, absl::StrCat("affine of ", columns), [&](KernelBatch& batch, bool fast) {
        const Matrix x = batch.NewMatrix(RowsOf::kTokens, columns, columns + 8, 4),
                     y = batch.NewMatrix(x.rows, columns);
        const float* const scale = batch.Copy(batch.Numbers(size_t(columns)));
        const float* const shift = batch.Copy(batch.Numbers(size_t(columns)));
        const cuda::AffineArguments arguments = {batch.batch(), x, y, nullptr, scale, shift, activation};
        fast ? batch.RunFast(arguments) : batch.Run("vitrine_affine", arguments);
        return batch.Read(y);
      });
    }
    ExpectEqualBits(kRowBatches, absl::StrCat("sum of ", columns), [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(RowsOf::kTokens, columns), z = batch.NewMatrix(x.rows, columns, columns + 4);
      const cuda::AddArguments arguments = {batch.batch(), x, z, x};
      fast ? batch.RunFast(arguments) : batch.Run("vitrine_add", arguments);
      return batch.Read(x);
    });
  }
}

TEST(CudaFastRows, CopiesOfEveryKindEqualThePlainKernel) {
  struct Kind {
    CopiedRows rows;
    RowsOf from, to;
  };
  for (const Kind& kind : {Kind{CopiedRows::kAll, RowsOf::kTokens, RowsOf::kTokens},
                           {CopiedRows::kClass, RowsOf::kTokens, RowsOf::kImages},
                           {CopiedRows::kClass, RowsOf::kImages, RowsOf::kTokens},
                           {CopiedRows::kCells, RowsOf::kTokens, RowsOf::kCells},
                           {CopiedRows::kCells, RowsOf::kCells, RowsOf::kTokens}}) {
    ExpectEqualBits(kRowBatches, "copy", [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(kind.from, 132), y = batch.NewMatrix(kind.to, 132, 140, 4);
      const cuda::CopyArguments arguments = {batch.batch(), x, y, kind.rows};
      fast ? batch.RunFast(arguments) : batch.Run("vitrine_copy_rows", arguments);
      return batch.Read(y);
    });
  }
}

// The engine chooses the plain kernel for rows that 16-byte accesses cannot read.
TEST(CudaFastRows, NeedRowsInMultiplesOfFour) {
  KernelBatch batch({{2, 2}});
  const Matrix odd = batch.NewMatrix(RowsOf::kCells, 6), shifted = batch.NewMatrix(RowsOf::kCells, 4, 8, 1),
               good = batch.NewMatrix(RowsOf::kCells, 4);
  const auto kernel = [&](const Matrix& x, const Matrix& y) {
    return std::string(cuda::Choose(cuda::AddArguments{batch.batch(), x, x, y}).kernel);
  };
  EXPECT_EQ(kernel(odd, odd), "vitrine_add");
  EXPECT_EQ(kernel(shifted, good), "vitrine_add");
  EXPECT_EQ(kernel(good, shifted), "vitrine_add");
  EXPECT_EQ(kernel(good, good), "vitrine_fast_add");
}

TEST(CudaFastRows, PropagateNan) {
  KernelBatch batch({{2, 3}});
  std::vector<float> numbers = batch.Numbers(6 * 40);
  numbers[45] = NAN;
  Matrix x = {const_cast<float*>(batch.Copy(numbers)), 40, 40, RowsOf::kCells}, y = batch.NewMatrix(x.rows, 40);
  const float* const ones = batch.Copy(std::vector<float>(40, 1));
  batch.Run("vitrine_fast_layer_norm", cuda::LayerNormArguments{batch.batch(), x, y, 1e-6F, ones, ones});
  const std::vector<float> result = batch.Read(y);
  for (size_t i = 0; i < result.size(); ++i) EXPECT_EQ(std::isnan(result[i]), i / 40 == 1) << i;
}

}  // namespace
}  // namespace vitrine::testing
