// SPDX-License-Identifier: Apache-2.0
// Tests that the fast and the plain depthwise convolutions give the same bits, for grids of one tile and of several
// tiles.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/engine/cuda/launches/fast_grid.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::DepthwiseArguments;
using cuda::Matrix;
using cuda::RowsOf;

const std::vector<std::vector<Grid>> kTiledBatches = {
    {{1, 1}}, {{14, 14}}, {{15, 3}, {1, 30}, {2, 2}}, {{13, 29}, {16, 14}}};

struct DepthwiseForm {
  int channels;
  RowsOf rows;
  bool activates, adds, narrow;
};

DepthwiseArguments NewArguments(KernelBatch& batch, const DepthwiseForm& form, const Matrix& x) {
  const auto channels = static_cast<size_t>(form.channels);
  DepthwiseArguments arguments = {.batch = batch.batch(),
                                  .x = x,
                                  .y = batch.NewMatrix(form.rows, form.channels, form.channels + 4),
                                  .residual = {},
                                  .weights = batch.Copy(batch.Numbers(9 * channels)),
                                  .bias = batch.Copy(batch.Numbers(channels)),
                                  .scale = nullptr,
                                  .shift = nullptr,
                                  .narrow = form.narrow};
  if (form.activates) {
    arguments.scale = batch.Copy(batch.Numbers(channels));
    arguments.shift = batch.Copy(batch.Numbers(channels));
  }
  if (form.adds) arguments.residual = batch.NewMatrix(RowsOf::kCells, form.channels, form.channels + 8, 4);
  return arguments;
}

TEST(CudaFastDepthwise, EqualsThePlainKernelBitForBit) {
  for (const DepthwiseForm& form : {DepthwiseForm{16, RowsOf::kCells, true, false, true},
                                    {32, RowsOf::kCells, false, true, false},
                                    {16, RowsOf::kTokens, true, true, false},
                                    {16, RowsOf::kTokens, false, false, true}}) {
    ExpectEqualBits(kTiledBatches, "convolution", [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(form.rows, form.channels, form.channels + 12, 8);
      const DepthwiseArguments arguments = NewArguments(batch, form, x);
      const cuda::KernelChoice choice = cuda::Choose(arguments, fast);
      EXPECT_EQ(std::string(choice.kernel), fast ? "vitrine_fast_depthwise" : "vitrine_depthwise");
      batch.Run(choice.kernel, arguments, choice.threads, choice.shared_bytes);
      return batch.Read(arguments.y);
    });
  }
}

// Compares one kernel for XCiT's local patch interaction with the three kernels that it replaces.
TEST(CudaFastDepthwise, LocalInteractionEqualsThePlainKernelsBitForBit) {
  for (const DepthwiseForm& form :
       {DepthwiseForm{32, RowsOf::kCells, true, true, true}, {16, RowsOf::kCells, true, false, false}}) {
    ExpectEqualBits(kTiledBatches, "convolution", [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(form.rows, form.channels, form.channels + 4);
      const Matrix normal = batch.NewMatrix(form.rows, form.channels);
      const float* const weight = batch.Copy(batch.Numbers(static_cast<size_t>(form.channels)));
      const float* const bias = batch.Copy(batch.Numbers(static_cast<size_t>(form.channels)));
      const DepthwiseForm of_first = {form.channels, form.rows, true, false, form.narrow};
      const DepthwiseForm of_second = {form.channels, form.rows, false, form.adds, form.narrow};
      DepthwiseArguments first = NewArguments(batch, of_first, normal);
      const DepthwiseArguments second = NewArguments(batch, of_second, first.y);
      auto* const statistics = batch.buffers().Allocate<cuda::RowStatistics>(static_cast<size_t>(batch.rows().cells()));
      batch.Run("vitrine_row_statistics", cuda::StatisticsArguments{batch.batch(), x, 1e-6F, statistics});
      if (fast) {
        first.x = x;
        const cuda::LocalArguments arguments = {first, second, statistics, weight, bias};
        const cuda::KernelChoice choice = cuda::Choose(arguments, true);
        batch.Run(choice.kernel, arguments, choice.threads, choice.shared_bytes);
      } else {
        batch.Run("vitrine_affine",
                  cuda::AffineArguments{batch.batch(), x, normal, statistics, weight, bias, cuda::Activation::kNone});
        batch.Run("vitrine_depthwise", first);
        batch.Run("vitrine_depthwise", second);
      }
      return batch.Read(second.y);
    });
  }
}

TEST(CudaFastDepthwise, PropagatesNan) {
  const DepthwiseForm form = {16, RowsOf::kCells, true, false, true};
  KernelBatch batch({{3, 16}});
  Matrix x = batch.NewMatrix(form.rows, form.channels);
  std::vector<float> numbers = batch.Read(x);
  constexpr size_t kCell = 16 + 13, kChannel = 5;  // row 1, column 13: at the border of two tiles
  numbers[kCell * 16 + kChannel] = NAN;
  x.data = const_cast<float*>(batch.Copy(numbers));
  const DepthwiseArguments arguments = NewArguments(batch, form, x);
  const cuda::KernelChoice choice = cuda::Choose(arguments, true);
  batch.Run(choice.kernel, arguments, choice.threads, choice.shared_bytes);
  const std::vector<float> y = batch.Read(arguments.y);
  for (size_t cell = 0; cell < 48; ++cell) {
    EXPECT_EQ(std::isnan(y[cell * 20 + kChannel]), cell % 16 >= 12 && cell % 16 <= 14) << cell;
    EXPECT_FALSE(std::isnan(y[cell * 20 + kChannel + 1])) << cell;
  }
}

// The engine chooses the plain kernel if the number of channels is no multiple of the channel group.
TEST(CudaFastDepthwise, NeedsAMultipleOfTheChannelGroup) {
  KernelBatch batch({{2, 2}});
  const DepthwiseForm form = {12, RowsOf::kCells, true, false, true};
  const DepthwiseArguments arguments = NewArguments(batch, form, batch.NewMatrix(form.rows, form.channels));
  EXPECT_EQ(std::string(cuda::Choose(arguments, true).kernel), "vitrine_depthwise");
}

}  // namespace
}  // namespace vitrine::testing
