// SPDX-License-Identifier: Apache-2.0
// The engine's kernels against double arithmetic, on every path that this CPU can run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/cpu/packed_matrix.h"
#include "tests/reference/kernel_testing.h"

namespace vitrine::engine {
namespace {

using cpu::Matrix;
using cpu::NoiseVector;
using cpu::View;
using ::testing::Each;

constexpr float kUntouched = 77;

double Activated(Activation activation, double x) {
  if (activation == Activation::kGelu) return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  return activation == Activation::kRelu ? std::max(x, 0.0) : x;
}

class EngineKernels : public ::testing::TestWithParam<cpu::CpuPath> {
 protected:
  const Kernels& kernels_ = *FindKernels(GetParam());

  // y = residual + activation(a W^T + b)
  void Gemm(View<const float> a, const PackedMatrix& matrix, Activation activation, View<const float> residual,
            View<float> y) const {
    kernels_.gemm({.a = a.data,
                   .a_stride = a.stride,
                   .rows = a.rows,
                   .inner = a.columns,
                   .panels = matrix.panels(),
                   .bias = matrix.bias(),
                   .columns = matrix.outputs(),
                   .activation = activation,
                   .residual = residual.data,
                   .residual_stride = residual.stride,
                   .y = y.data,
                   .y_stride = y.stride});
  }
};
INSTANTIATE_TEST_SUITE_P(, EngineKernels, ::testing::ValuesIn(cpu::SupportedPaths()),
                         [](const auto& info) { return std::string(cpu::Name(info.param)); });

TEST_P(EngineKernels, AProductWithAllThatFollowsIsThatOfTheFormula) {
  for (const int64_t rows : {1, 2, 7, 14, 15, 29}) {
    for (const int64_t outputs : {1, 10, 16, 17, 32, 40, 65}) {
      for (const Activation activation : {Activation::kNone, Activation::kGelu, Activation::kRelu}) {
        constexpr int64_t kInputs = 37;
        Matrix<float> a(rows, kInputs, 3, NAN), weight(outputs, kInputs), residual(rows, outputs, 2, NAN);
        Matrix<float> y(rows, outputs, 5, kUntouched);
        a.FillWithNoise(1);
        weight.FillWithNoise(2);
        residual.FillWithNoise(3);
        const std::vector<float> bias = NoiseVector(4, outputs);
        const PackedMatrix matrix(std::as_const(weight).view(), bias.data(), kernels_);
        for (const bool adds : {false, true}) {
          Gemm(a.view(), matrix, activation, adds ? View<const float>(residual.view()) : View<const float>(), y.view());
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < outputs; ++j) {
              double sum = bias[static_cast<size_t>(j)];
              for (int64_t k = 0; k < kInputs; ++k) sum += double{a.view().Row(i)[k]} * weight.view().Row(j)[k];
              const double expected = Activated(activation, sum) + (adds ? residual.view().Row(i)[j] : 0);
              ASSERT_NEAR(y.view().Row(i)[j], expected, 1e-5) << rows << "x" << outputs << " at " << i << ", " << j;
            }
            for (int64_t j = outputs; j < outputs + 5; ++j) ASSERT_EQ(y.view().Row(i)[j], kUntouched);
          }
        }
      }
    }
  }
}

// Whatever tile a row falls into.
TEST_P(EngineKernels, ARowOfAProductIsTheSameBitsInAnyCompany) {
  constexpr int64_t kRows = 41, kInputs = 50, kOutputs = 45;
  Matrix<float> a(kRows, kInputs), weight(kOutputs, kInputs), together(kRows, kOutputs), alone(1, kOutputs);
  a.FillWithNoise(1);
  weight.FillWithNoise(2);
  const PackedMatrix matrix(std::as_const(weight).view(), nullptr, kernels_);
  for (int64_t rows = 1; rows <= kRows; ++rows) {
    const View<float> all = a.view();
    Gemm({all.data, rows, kInputs, all.stride}, matrix, Activation::kGelu, {}, together.view());
    for (int64_t i = 0; i < rows; ++i) {
      Gemm({all.Row(i), 1, kInputs, all.stride}, matrix, Activation::kGelu, {}, alone.view());
      for (int64_t j = 0; j < kOutputs; ++j) {
        ASSERT_EQ(alone.view().data[j], together.view().Row(i)[j]) << i << "/" << rows;
      }
    }
  }
}

TEST_P(EngineKernels, AResidualMayBeTheResult) {
  Matrix<float> a(5, 8), weight(20, 8), apart(5, 20), y(5, 20);
  a.FillWithNoise(1);
  weight.FillWithNoise(2);
  y.FillWithNoise(3);
  const PackedMatrix matrix(std::as_const(weight).view(), nullptr, kernels_);
  Gemm(a.view(), matrix, Activation::kNone, y.view(), apart.view());
  Gemm(a.view(), matrix, Activation::kNone, y.view(), y.view());
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 20; ++j) EXPECT_EQ(y.view().Row(i)[j], apart.view().Row(i)[j]);
  }
}

// What every kernel of rows makes of a row, for widths with and without a part of a vector at their end.
TEST_P(EngineKernels, RowsAreThoseOfTheFormulas) {
  for (const int64_t columns : {1, 3, 16, 31, 64, 130}) {
    Matrix<float> x(4, columns, 3, NAN), z(4, columns, 1, NAN), y(4, columns, 2, kUntouched);
    x.FillWithNoise(1);
    z.FillWithNoise(2);
    const std::vector<float> weight = NoiseVector(3, columns), bias = NoiseVector(4, columns);
    const auto expect = [&](const char* what, auto formula) {
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          ASSERT_NEAR(y.view().Row(i)[j], formula(i, j), 2e-5) << what << " of " << columns << " at " << j;
        }
        for (int64_t j = columns; j < columns + 2; ++j) ASSERT_EQ(y.view().Row(i)[j], kUntouched) << what;
      }
    };
    const auto in = [&](int64_t i, int64_t j) { return double{x.view().Row(i)[j]}; };
    const auto sum = [&](int64_t i, auto of) {
      double total = 0;
      for (int64_t j = 0; j < columns; ++j) total += of(in(i, j));
      return total;
    };
    const double n = static_cast<double>(columns);
    const auto normalized = [&](int64_t i, int64_t j) {
      const double mean = sum(i, [](double v) { return v; }) / n;
      const double variance = sum(i, [&](double v) { return (v - mean) * (v - mean); }) / n;
      return (in(i, j) - mean) / std::sqrt(variance + 1e-2);
    };
    const auto w = [&](int64_t j) { return double{weight[static_cast<size_t>(j)]}; };
    const auto b = [&](int64_t j) { return double{bias[static_cast<size_t>(j)]}; };

    kernels_.normalize(x.view(), 1e-2f, y.view());
    expect("normalize", normalized);
    kernels_.layer_norm(x.view(), 1e-2f, weight.data(), bias.data(), y.view());
    expect("layer_norm", [&](int64_t i, int64_t j) { return normalized(i, j) * w(j) + b(j); });
    kernels_.affine(x.view(), weight.data(), bias.data(), y.view());
    expect("affine", [&](int64_t i, int64_t j) { return in(i, j) * w(j) + b(j); });
    kernels_.add(x.view(), z.view(), y.view());
    expect("add", [&](int64_t i, int64_t j) { return in(i, j) + z.view().Row(i)[j]; });
    for (const Activation activation : {Activation::kGelu, Activation::kRelu}) {
      kernels_.activate(x.view(), activation, y.view());
      expect("activate", [&](int64_t i, int64_t j) { return Activated(activation, in(i, j)); });
    }
    kernels_.scale_to_length(x.view(), 3, 0.5f, y.view());
    expect("scale_to_length", [&](int64_t i, int64_t j) {
      return in(i, j) * 3 / (std::sqrt(sum(i, [](double v) { return v * v; })) + 0.5);
    });
  }
}

TEST_P(EngineKernels, LengthsOfColumnsHaveALeast) {
  constexpr int64_t kColumns = 21;
  Matrix<float> x(9, kColumns, 4, NAN);
  x.FillWithNoise(1);
  for (int64_t i = 0; i < 9; ++i) x.view().Row(i)[3] = 0;
  std::vector<float> inverse(kColumns);
  kernels_.inverse_lengths(x.view(), 0.25f, inverse.data());
  for (int64_t j = 0; j < kColumns; ++j) {
    double squares = 0;
    for (int64_t i = 0; i < 9; ++i) squares += double{x.view().Row(i)[j]} * x.view().Row(i)[j];
    EXPECT_NEAR(inverse[static_cast<size_t>(j)], 1 / std::max(0.25, std::sqrt(squares)), 1e-5);
  }
  EXPECT_EQ(inverse[3], 4);
}

}  // namespace
}  // namespace vitrine::engine
