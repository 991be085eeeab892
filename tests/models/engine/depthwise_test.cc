// SPDX-License-Identifier: Apache-2.0
// Compares depthwise convolutions with arithmetic in double. Covers the fp32, bf16 and int8 kernels of every
// instruction set of this CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "tests/models/engine/activated.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::engine {
namespace {

using cpu::kUntouched;
using cpu::Matrix;
using cpu::NoiseVector;

struct Convolution {
  std::string name;
  void (*run)(const cpu::DepthwiseCall& call);
  double tolerance;  // tolerance after GELU
  friend void PrintTo(const Convolution& convolution, std::ostream* out) { *out << convolution.name; }
};

std::vector<Convolution> AllConvolutions() {
  std::vector<Convolution> all;
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    all.push_back({std::string("fp32_") + cpu::Name(path), FindKernels(path)->depthwise, 1e-5});
    const auto add = [&](const char* what, const NarrowKernels* kernels) {
      if (kernels == nullptr) return;
      // With 16 lanes, NarrowGelu has an error of up to 9.4e-5. Its result is multiplied by at most 1.
      const double tolerance = kernels->vector_columns == 16 ? 1e-4 : 1e-5;
      all.push_back({std::string(what) + "_" + cpu::Name(path), kernels->depthwise, tolerance});
    };
    add("bf16", FindBf16Kernels(path));
    add("int8", FindInt8Kernels(path));
  }
  return all;
}

class EngineDepthwise : public ::testing::TestWithParam<Convolution> {};
INSTANTIATE_TEST_SUITE_P(, EngineDepthwise, ::testing::ValuesIn(AllConvolutions()),
                         [](const auto& info) { return info.param.name; });

// Covers narrow grids, so that blocks of cells end at every column. Also covers convolutions with and without fused
// steps.
TEST_P(EngineDepthwise, AgreesWithTheFormula) {
  constexpr int64_t kRows = 3, kChannels = 21, kGap = 2;
  for (int64_t columns = 1; columns <= 13; ++columns) {
    Matrix<float> x(kRows * columns, kChannels, kGap, NAN), residual(kRows * columns, kChannels, 5, NAN);
    Matrix<float> y(kRows * columns, kChannels, 1, kUntouched);
    x.FillWithNoise(1);
    residual.FillWithNoise(2);
    const std::vector<float> weights = NoiseVector(3, 9 * kChannels), bias = NoiseVector(4, kChannels),
                             scale = NoiseVector(5, kChannels), shift = NoiseVector(6, kChannels), zeros(kChannels, 0);
    for (const bool follows : {false, true}) {
      GetParam().run({.x = x.view().data,
                      .x_stride = x.view().stride,
                      .rows = kRows,
                      .columns = columns,
                      .channels = kChannels,
                      .weights = weights.data(),
                      .bias = bias.data(),
                      .zeros = zeros.data(),
                      .scale = follows ? scale.data() : nullptr,
                      .shift = follows ? shift.data() : nullptr,
                      .y = y.view().data,
                      .y_stride = y.view().stride,
                      .residual = follows ? residual.view().data : nullptr,
                      .residual_stride = residual.view().stride});
      for (int64_t cell = 0; cell < kRows * columns; ++cell) {
        for (int64_t c = 0; c < kChannels; ++c) {
          const auto at = [c](const std::vector<float>& of) { return double{of[static_cast<size_t>(c)]}; };
          double expected = at(bias);
          for (int64_t k = 0; k < 9; ++k) {
            const int64_t row = cell / columns + k / 3 - 1, column = cell % columns + k % 3 - 1;
            if (row < 0 || row >= kRows || column < 0 || column >= columns) continue;
            expected +=
                double{weights[static_cast<size_t>(k * kChannels + c)]} * x.view().Row(row * columns + column)[c];
          }
          if (follows) {
            expected = Activated(Activation::kGelu, expected) * at(scale) + at(shift) + residual.view().Row(cell)[c];
          }
          ASSERT_NEAR(y.view().Row(cell)[c], expected, follows ? GetParam().tolerance : 1e-5)
              << columns << " columns, cell " << cell;
        }
        ASSERT_EQ(y.view().Row(cell)[kChannels], kUntouched);
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::engine
