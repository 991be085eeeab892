// SPDX-License-Identifier: Apache-2.0
// Compares the engine's kernels of every instruction set of this CPU with arithmetic in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/engine/cpu/matrices/packed_matrix.h"
#include "tests/models/engine/activated.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::engine {
namespace {

using cpu::kUntouched;
using cpu::Matrix;
using cpu::NoiseVector;
using cpu::View;
using ::testing::Each;

class EngineKernels : public ::testing::TestWithParam<cpu::CpuPath> {
 protected:
  const Kernels& kernels_ = *FindKernels(GetParam());

  // Computes y = residual + activation(a W^T + b).
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

TEST_P(EngineKernels, AProductWithFusedStepsAgreesWithTheFormula) {
  for (const int64_t rows : {1, 2, 7, 14, 15, 29}) {
    for (const int64_t outputs : {1, 10, 16, 17, 32, 40, 65}) {
      for (const Activation activation :
           {Activation::kNone, Activation::kGelu, Activation::kQuickGelu, Activation::kRelu}) {
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

// The bits of a row do not depend on the tile that contains the row.
TEST_P(EngineKernels, BitsOfAProductRowDoNotDependOnOtherRows) {
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

TEST_P(EngineKernels, TheResidualMayAliasTheResult) {
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

// Compares every row kernel with its formula, for widths with and without a partial vector at the end.
TEST_P(EngineKernels, RowKernelsAgreeWithTheFormulas) {
  for (const int64_t columns : {1, 3, 16, 31, 64, 130}) {
    constexpr int64_t kRows = 7;
    Matrix<float> x(kRows, columns, 3, NAN), z(kRows, columns, 1, NAN), y(kRows, columns, 2, kUntouched);
    x.FillWithNoise(1);
    z.FillWithNoise(2);
    const std::vector<float> weight = NoiseVector(3, columns), bias = NoiseVector(4, columns);
    const auto expect = [&](const char* what, auto formula) {
      for (int64_t i = 0; i < kRows; ++i) {
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

// Covers inputs from -7 to 7, where GELU is curved, in steps of 5e-5. Then covers magnitudes from 1e-30 to 1e6.
TEST_P(EngineKernels, GeluAgreesWithTheFormulaForAllInputs) {
  std::vector<float> x;
  for (int i = -140'000; i <= 140'000; ++i) x.push_back(static_cast<float>(i) / 20'000);
  for (float size = 1e-30f; size < 1e6f; size *= 1.5f) x.insert(x.end(), {size, -size});
  std::vector<float> y(x.size());
  const int64_t count = static_cast<int64_t>(x.size());
  kernels_.activate({x.data(), 1, count, count}, Activation::kGelu, {y.data(), 1, count, count});
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::abs(x[i]) >= 6) {
      ASSERT_EQ(y[i], std::max(x[i], 0.0f)) << "at " << x[i];
    } else {
      const double expected = 0.5 * x[i] * std::erfc(-x[i] / std::sqrt(2.0));
      ASSERT_NEAR(y[i], expected, 3e-7 * std::max(1.0f, std::abs(x[i]))) << "at " << x[i];
    }
  }
}

TEST_P(EngineKernels, SoftmaxRowsAndDotsAgreeWithTheFormula) {
  constexpr int64_t kRows = 7;
  for (const int64_t columns : {1, 3, 8, 16, 31, 64, 197}) {
    Matrix<float> x(kRows, columns, 3, NAN);
    x.FillWithNoise(1);
    const std::vector<float> z = NoiseVector(2, columns);
    std::vector<float> dots(kRows + 1, kUntouched);
    kernels_.dots(x.view(), z.data(), dots.data());
    for (int64_t i = 0; i < kRows; ++i) {
      double expected = 0;
      for (int64_t j = 0; j < columns; ++j) expected += double{x.view().Row(i)[j]} * z[static_cast<size_t>(j)];
      EXPECT_NEAR(dots[static_cast<size_t>(i)], expected, 1e-5) << columns;
    }
    EXPECT_EQ(dots.back(), kUntouched);

    std::vector<float> row(static_cast<size_t>(columns + 1), kUntouched);
    double sum = 0;
    // Scores differ by more than 87, so some powers underflow.
    const auto score = [&z](int64_t j) { return 90 * z[static_cast<size_t>(j)] - 40; };
    float largest = score(0);
    for (int64_t j = 0; j < columns; ++j) {
      row[static_cast<size_t>(j)] = score(j);
      largest = std::max(largest, score(j));
    }
    for (int64_t j = 0; j < columns; ++j) sum += std::exp(double{score(j)} - largest);
    kernels_.softmax_row(row.data(), columns);
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_NEAR(row[static_cast<size_t>(j)], std::exp(double{score(j)} - largest) / sum, 1e-6) << columns;
    }
    EXPECT_EQ(row.back(), kUntouched);
  }
}

// Rows are processed in blocks, and the last rows one by one.
TEST_P(EngineKernels, BitsOfARowDoNotDependOnItsBlock) {
  constexpr int64_t kRows = 9;
  for (const int64_t columns : {1, 24, 31, 64}) {
    Matrix<float> x(kRows, columns, 3, NAN), together(kRows, columns), alone(1, columns);
    x.FillWithNoise(1);
    const std::vector<float> weight = NoiseVector(2, columns), bias = NoiseVector(3, columns);
    const auto expect_same = [&](auto run) {
      for (int64_t rows = 1; rows <= kRows; ++rows) {
        const View<float> all = x.view();
        run({all.data, rows, columns, all.stride}, together.view());
        for (int64_t i = 0; i < rows; ++i) {
          run({all.Row(i), 1, columns, all.stride}, alone.view());
          for (int64_t j = 0; j < columns; ++j) {
            ASSERT_EQ(alone.view().data[j], together.view().Row(i)[j]) << i << "/" << rows << " at " << j;
          }
        }
      }
    };
    using In = View<const float>;
    expect_same([&](In in, View<float> y) { kernels_.normalize(in, 1e-6f, y); });
    expect_same([&](In in, View<float> y) { kernels_.layer_norm(in, 1e-6f, weight.data(), bias.data(), y); });
    expect_same([&](In in, View<float> y) { kernels_.scale_to_length(in, 3, 1e-6f, y); });
  }
}

TEST_P(EngineKernels, SoftmaxColumnBitsDoNotDependOnTheVectorPosition) {
  constexpr int64_t kRows = 7;
  const std::vector<float> column = NoiseVector(1, kRows);
  const auto first_of = [&](int64_t columns) {
    std::vector<float> x(static_cast<size_t>(kRows * columns), 1.0f), first;
    for (int64_t row = 0; row < kRows; ++row) x[size_t(row * columns)] = column[size_t(row)];
    kernels_.softmax_columns(x.data(), kRows, columns);
    for (int64_t row = 0; row < kRows; ++row) first.push_back(x[size_t(row * columns)]);
    return first;
  };
  EXPECT_EQ(first_of(1), first_of(16));
  EXPECT_EQ(first_of(5), first_of(16));
}

TEST_P(EngineKernels, SoftmaxColumnsSumToOneForAnyNumber) {
  constexpr int64_t kRows = 7;
  for (const int64_t columns : {1, 5, 8, 16, 23, 48, 53}) {
    const std::vector<float> noise = NoiseVector(1, kRows * columns);
    std::vector<float> x = noise;
    x.push_back(kUntouched);
    kernels_.softmax_columns(x.data(), kRows, columns);
    for (int64_t column = 0; column < columns; ++column) {
      const auto at = [&](int64_t row) { return static_cast<size_t>(row * columns + column); };
      double sum = 0;
      for (int64_t row = 0; row < kRows; ++row) sum += std::exp(double{noise[at(row)]});
      for (int64_t row = 0; row < kRows; ++row) {
        ASSERT_NEAR(x[at(row)], std::exp(double{noise[at(row)]}) / sum, 1e-6) << columns << " at " << column;
      }
    }
    EXPECT_EQ(x.back(), kUntouched);
  }
}

TEST_P(EngineKernels, ColumnLengthsHaveAMinimum) {
  for (const int64_t columns : {21, 149}) {  // covers blocks of eight vectors, single vectors and a partial vector
    Matrix<float> x(9, columns, 4, NAN);
    x.FillWithNoise(1);
    for (int64_t i = 0; i < 9; ++i) x.view().Row(i)[3] = 0;
    std::vector<float> inverse(static_cast<size_t>(columns + 1), kUntouched);
    kernels_.inverse_lengths(x.view(), 0.25f, inverse.data());
    for (int64_t j = 0; j < columns; ++j) {
      double squares = 0;
      for (int64_t i = 0; i < 9; ++i) squares += double{x.view().Row(i)[j]} * x.view().Row(i)[j];
      EXPECT_NEAR(inverse[static_cast<size_t>(j)], 1 / std::max(0.25, std::sqrt(squares)), 1e-5) << j << "/" << columns;
    }
    EXPECT_EQ(inverse[3], 4);
    EXPECT_EQ(inverse.back(), kUntouched);
  }
}

}  // namespace
}  // namespace vitrine::engine
