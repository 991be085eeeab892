// SPDX-License-Identifier: Apache-2.0
// Compares GELU and LayerNorm with arithmetic in double, for every instruction set of this CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/simd/bf16.h"
#include "models/reference/kernels/kernel_table.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double ExactGelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

class Kernels : public ::testing::TestWithParam<CpuPath> {
 protected:
  static const TrainingTable& table() { return FindKernels(GetParam())->training; }
  static const TrainingKernels<float>& kernels() { return table().fp32; }
};
INSTANTIATE_TEST_SUITE_P(, Kernels, ::testing::ValuesIn(SupportedPaths()),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(Kernels, GeluMatchesErf) {
  std::vector<float> x;
  for (int i = -1'600'000; i <= 1'600'000; ++i) x.push_back(static_cast<float>(i) * 1e-5f);
  for (float size = 1e-30f; size < 1e30f; size *= 1.7f) x.insert(x.end(), {size, -size});
  std::vector<float> y(x.size());
  kernels().gelu(x.data(), y.data(), static_cast<int64_t>(x.size()));
  double worst = 0, worst_small = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = ExactGelu(x[i]);
    const double error = std::isnan(y[i]) ? 1e9 : std::abs(y[i] - exact);
    worst = std::max(worst, error / std::max(1.0, std::abs(static_cast<double>(x[i]))));
    if (std::abs(x[i]) < 1 && exact != 0) worst_small = std::max(worst_small, error / std::abs(exact));
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_LT(worst_small, 6e-7) << "relative, where GELU is about x / 2";
}

TEST_P(Kernels, GeluIsExactInItsTails) {
  std::vector<float> x = {5.5f, 6, 100, 3e38f, -5.5f, -6, -100, -3e38f, 0};
  kernels().gelu(x.data(), x.data(), static_cast<int64_t>(x.size()));  // in place; the last vector is partial
  EXPECT_THAT(x, ::testing::ElementsAre(5.5f, 6, 100, 3e38f, 0, 0, 0, 0, 0));
}

// Tests rows of x with a gap of NaN after each row, and results of both element types.
TEST_P(Kernels, LayerNormMatchesDouble) {
  for (const int64_t columns : {1, 3, 16, 31, 32, 33, 64, 250, 768}) {
    for (const float mean : {0.f, 30.f}) {
      constexpr int64_t kRows = 5;
      Matrix<float> x(kRows, columns, 3, kNan);
      x.FillWithNoise(7);
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < columns; ++j) x.view().Row(i)[j] += mean;
      }
      const std::vector<float> weight = NoiseVector(8, columns), bias = NoiseVector(9, columns);
      std::vector<float> y(kRows * columns), statistics(2 * kRows);
      std::vector<Bf16> y16(kRows * columns);
      const View<const float> rows = std::as_const(x).view();
      table().fp32.norm({rows, 1e-6f, weight.data(), bias.data(), y.data(), statistics.data()});
      table().bf16.norm({rows, 1e-6f, weight.data(), bias.data(), y16.data(), statistics.data()});
      for (int64_t i = 0; i < kRows; ++i) {
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < columns; ++j) sum += rows.Row(i)[j];
        for (int64_t j = 0; j < columns; ++j) squares += std::pow(rows.Row(i)[j] - sum / columns, 2);
        const double scale = 1 / std::sqrt(squares / columns + 1e-6);
        EXPECT_NEAR(statistics[2 * i], sum / columns, 1e-5);
        for (int64_t j = 0; j < columns; ++j) {
          const double exact = (rows.Row(i)[j] - sum / columns) * scale * weight[j] + bias[j];
          ASSERT_NEAR(y[i * columns + j], exact, 3e-6 * (1 + mean)) << columns << " columns";
          ASSERT_NEAR(ToFloat(y16[i * columns + j]), exact, 4e-3 * (1 + std::abs(exact)) + 3e-6 * (1 + mean));
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::cpu
