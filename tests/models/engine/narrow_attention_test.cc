// SPDX-License-Identifier: Apache-2.0
// Tests how activations become operands of bf16 products, with every instruction set that has bf16 kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/simd/bf16.h"
#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/steps/narrow_product.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::engine {
namespace {

using cpu::kUntouched;
using cpu::Matrix;
using cpu::View;

class Bf16KernelsTest : public ::testing::TestWithParam<cpu::CpuPath> {
 protected:
  static double Rounded(float value) { return cpu::ToFloat(cpu::ToBf16(value)); }
  static std::byte* Bytes(AlignedFloats& floats) { return reinterpret_cast<std::byte*>(floats.data()); }
  // Returns memory for the panels of a packed matrix and one more float at the end, to detect writes beyond the panels.
  static AlignedFloats Panels(int64_t floats) {
    AlignedFloats panels(floats + 1);
    for (int64_t i = 0; i <= floats; ++i) panels.data()[i] = kUntouched;
    return panels;
  }

  const NarrowKernels& kernels_ = *FindBf16Kernels(GetParam());
};

std::vector<cpu::CpuPath> Bf16Paths() {
  std::vector<cpu::CpuPath> paths;
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    if (FindBf16Kernels(path) != nullptr) paths.push_back(path);
  }
  return paths;
}
INSTANTIATE_TEST_SUITE_P(, Bf16KernelsTest, ::testing::ValuesIn(Bf16Paths()),
                         [](const auto& info) { return std::string(cpu::Name(info.param)); });

// Tests the product of `a` and `b`, with `b` stored as [inner, columns] and as [columns, inner].
TEST_P(Bf16KernelsTest, ProductsOfActivationsUseRoundedNumbers) {
  for (const int64_t inner : {1, 2, 5, 32, 33, 64, 67}) {
    for (const int64_t columns : {1, 4, 15, 16, 17, 32, 33, 50}) {
      constexpr int64_t kRows = 19;
      Matrix<float> a(kRows, inner, 3, NAN), b(inner, columns, 2, NAN), turned(columns, inner, 1, NAN);
      a.FillWithNoise(1);
      b.FillWithNoise(2);
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t j = 0; j < columns; ++j) turned.view().Row(j)[i] = b.view().Row(i)[j];
      }
      const int64_t groups = GroupsOf(inner), whole = WholeVectors(kernels_, columns);
      std::vector<std::byte> left(static_cast<size_t>(kRows * groups * kGroupBytes));
      kernels_.take(a.view(), -1, left.data(), groups * kGroupBytes, nullptr);
      AlignedFloats panels = Panels(groups * whole), same = Panels(groups * whole), zeros(whole);
      kernels_.pack_inputs(b.view(), Bytes(panels));
      kernels_.pack_outputs(turned.view(), Bytes(same));
      ASSERT_EQ(std::memcmp(panels.data(), same.data(), static_cast<size_t>(groups * whole * kGroupBytes)), 0);
      ASSERT_EQ(panels.data()[groups * whole], kUntouched);
      ASSERT_EQ(same.data()[groups * whole], kUntouched);
      Matrix<float> y(kRows, columns, 5, kUntouched);
      MultiplyBf16(kernels_, {left.data(), groups * kGroupBytes, groups}, Bytes(panels), zeros.data(), y.view());
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k) sum += Rounded(a.view().Row(i)[k]) * Rounded(b.view().Row(k)[j]);
          ASSERT_NEAR(y.view().Row(i)[j], sum, 2e-5) << inner << " x " << columns;
        }
      }
    }
  }
}

// Tests products with a transposed left operand, such as XCiT's k^T q.
TEST_P(Bf16KernelsTest, ProductsAcceptATransposedLeftOperand) {
  for (const int64_t tokens : {1, 9, 50}) {
    const int64_t columns = kernels_.panel_columns - 3, groups = GroupsOf(tokens), whole = kernels_.panel_columns;
    Matrix<float> k(tokens, columns), q(tokens, columns), y(columns, columns);
    k.FillWithNoise(1);
    q.FillWithNoise(2);
    AlignedFloats keys(groups * whole), queries(groups * whole), zeros(whole);
    kernels_.pack_inputs(k.view(), Bytes(keys));
    kernels_.pack_inputs(q.view(), Bytes(queries));
    MultiplyBf16(kernels_, {Bytes(keys), kGroupBytes, groups, whole * kGroupBytes}, Bytes(queries), zeros.data(),
                 y.view());
    for (int64_t i = 0; i < columns; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t t = 0; t < tokens; ++t) sum += Rounded(k.view().Row(t)[i]) * Rounded(q.view().Row(t)[j]);
        ASSERT_NEAR(y.view().Row(i)[j], sum, 2e-5) << tokens << " tokens";
      }
    }
  }
}

TEST_P(Bf16KernelsTest, RowWeightsAgreeWithSoftmax) {
  for (const int64_t keys : {1, 3, 16, 37, 197}) {
    for (const float scale : {0.125f, -3.0f}) {
      constexpr int64_t kRows = 6;
      const int64_t whole = WholeVectors(kernels_, keys);
      Matrix<float> x(kRows, whole), kept(kRows, whole);
      for (Matrix<float>* const matrix : {&x, &kept}) {
        matrix->FillWithNoise(1);
        for (int64_t j = 0; j < whole; ++j) {
          matrix->view().Row(1)[j] = 3e3f;  // 2^x overflows
          matrix->view().Row(2)[j] *= 1e3f;
        }
      }
      std::vector<float> offsets(static_cast<size_t>(whole), -std::numeric_limits<float>::infinity());
      for (int64_t j = 0; j < keys; ++j) offsets[static_cast<size_t>(j)] = static_cast<float>(j % 5) / 4;
      const int64_t stride = whole * int64_t{sizeof(cpu::Bf16)};
      std::vector<cpu::Bf16> weights(static_cast<size_t>(kRows * whole));
      kernels_.softmax_rows(x.view(), scale, offsets.data(), reinterpret_cast<std::byte*>(weights.data()), stride);
      for (int64_t i = 0; i < kRows; ++i) {
        std::vector<double> exact;
        double largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          exact.push_back(double{scale} * kept.view().Row(i)[j] + double{offsets[static_cast<size_t>(j)]});
          largest = std::max(largest, exact.back());
        }
        for (double& e : exact) sum += e = std::exp2(e - largest);
        for (int64_t j = 0; j < whole; ++j) {
          const double expected = j < keys ? exact[static_cast<size_t>(j)] / sum : 0;
          // The relative tolerance covers three errors: the rounding to bf16, whose mantissa has 8 bits; the
          // approximation of 2^x; and the rounding of scores with a magnitude of a thousand.
          ASSERT_NEAR(cpu::ToFloat(weights[static_cast<size_t>(i * whole + j)]), expected, expected * 5e-3 + 1e-30)
              << keys << " keys, " << i << ", " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::engine
