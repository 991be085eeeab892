// SPDX-License-Identifier: Apache-2.0
// Tests the kernels of channel attention and of local patch interaction, for every instruction set of this CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/simd/cpu_path.h"
#include "models/reference/kernels/kernel_table.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::cpu {
namespace {

std::vector<float> HashedValues(int64_t count, uint64_t seed) {
  const at::Tensor values = testing::Hashed({count}, seed);
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + count};
}

class ChannelKernels : public ::testing::TestWithParam<CpuPath> {
 protected:
  const KernelTable& kernels_ = *FindKernels(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Paths, ChannelKernels, ::testing::ValuesIn(SupportedPaths()),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(ChannelKernels, ProductsAgreeWithTheFormulaWithinTheirBounds) {
  constexpr int64_t kStride = 61;
  for (const int64_t rows : {1, 8, 13, 48}) {
    for (const int64_t columns : {1, 7, 16, 24, 32, 48, 55}) {
      for (const int64_t inner : {1, 29}) {
        for (const bool transposed : {false, true}) {
          const std::vector<float> a = HashedValues(64 * kStride, 1), b = HashedValues(inner * kStride, 2);
          std::vector<float> y(rows * kStride, kUntouched);
          const int64_t a_row = transposed ? 1 : kStride, a_inner = transposed ? kStride : 1;
          kernels_.product({.a = a.data(),
                            .a_row = a_row,
                            .a_inner = a_inner,
                            .b = b.data(),
                            .b_stride = kStride,
                            .rows = rows,
                            .inner = inner,
                            .columns = columns,
                            .y = y.data(),
                            .y_stride = kStride});
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < kStride; ++j) {
              double sum = 0;
              for (int64_t k = 0; k < inner; ++k) sum += double{a[i * a_row + k * a_inner]} * b[k * kStride + j];
              ASSERT_NEAR(y[i * kStride + j], j < columns ? sum : kUntouched, 1e-5)
                  << rows << "x" << inner << "x" << columns << " at " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

// Computes one value of a depthwise convolution in fp64.
double Depthwise(const DepthwiseCall& call, int64_t row, int64_t column, int64_t channel) {
  double sum = call.bias[channel];
  for (int k = 0; k < 9; ++k) {
    const int64_t r = row + k / 3 - 1, c = column + k % 3 - 1;
    if (r < 0 || r >= call.rows || c < 0 || c >= call.columns) continue;
    sum += double{call.weights[k * call.channels + channel]} * call.x[(r * call.columns + c) * call.x_stride + channel];
  }
  if (call.scale == nullptr) return sum;
  return 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0))) * call.scale[channel] + call.shift[channel];
}

TEST_P(ChannelKernels, DepthwiseConvolutionsAgreeWithTheFormula) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 4}, {3, 5}, {7, 2}}) {
    for (const int64_t channels : {5, 16, 24, 40}) {
      const int64_t stride = channels + 3;
      const std::vector<float> x = HashedValues(rows * columns * stride, 1), weights = HashedValues(9 * channels, 2),
                               bias = HashedValues(channels, 3), scale = HashedValues(channels, 4),
                               shift = HashedValues(channels, 5), zeros(channels, 0);
      for (const bool gelu : {false, true}) {
        std::vector<float> y(rows * columns * stride, kUntouched);
        const DepthwiseCall call{.x = x.data(),
                                 .x_stride = stride,
                                 .rows = rows,
                                 .columns = columns,
                                 .channels = channels,
                                 .weights = weights.data(),
                                 .bias = bias.data(),
                                 .zeros = zeros.data(),
                                 .scale = gelu ? scale.data() : nullptr,
                                 .shift = gelu ? shift.data() : nullptr,
                                 .y = y.data(),
                                 .y_stride = stride};
        kernels_.depthwise(call);
        for (int64_t cell = 0; cell < rows * columns; ++cell) {
          for (int64_t c = 0; c < stride; ++c) {
            const double expected = c < channels ? Depthwise(call, cell / columns, cell % columns, c) : kUntouched;
            ASSERT_NEAR(y[cell * stride + c], expected, 5e-6 * std::max(1.0, std::abs(expected)));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::cpu
