// SPDX-License-Identifier: Apache-2.0
// Compares the matrix products of the bf16 and int8 kernels of every instruction set of this CPU with sums in double of
// the rounded numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/simd/bf16.h"
#include "models/engine/cpu/matrices/narrow_matrix.h"
#include "tests/models/engine/activated.h"
#include "tests/models/reference/kernel_testing.h"

namespace vitrine::engine {

#if defined(__x86_64__)
extern const NarrowKernels kAvx2Int8KernelsByAvx512;  // defined in kernels_avx2_evex.cc
#endif

namespace {

using cpu::kUntouched;
using cpu::Matrix;
using cpu::NoiseVector;
using cpu::View;

struct Numbers {
  std::string name;
  const NarrowKernels* kernels;
  friend void PrintTo(const Numbers& numbers, std::ostream* out) { *out << numbers.name; }
};

std::vector<Numbers> AllNumbers() {
  std::vector<Numbers> all;
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    const auto add = [&](const char* what, const NarrowKernels* kernels) {
      if (kernels != nullptr) all.push_back({std::string(what) + "_" + cpu::Name(path), kernels});
    };
    add("bf16", FindBf16Kernels(path));
    add("int8", FindInt8Kernels(path));
  }
#if defined(__x86_64__)
  // These AVX2 kernels are tested even if the CPU has better kernels.
  if (cpu::IsSupported(cpu::CpuPath::kAvx2)) all.push_back({"int8_pairs_of_avx2", &kAvx2PairsKernels});
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
    all.push_back({"int8_avx2_by_avx512", &kAvx2Int8KernelsByAvx512});
  }
#endif
  return all;
}

// Rows that were converted to an operand of a matrix product.
struct Taken {
  Taken(const NarrowKernels& kernels, View<const float> x, float epsilon)
      : stride((x.columns + kernels.numbers_of_group - 1) / kernels.numbers_of_group * kGroupBytes),
        bytes(static_cast<size_t>(x.rows * stride + 1), std::byte{0x5a}),
        ranges(static_cast<size_t>(x.rows)),
        bytes_of_number(kGroupBytes / kernels.numbers_of_group),
        is_of_bytes(kernels.of_bytes) {
    kernels.take(x, epsilon, bytes.data(), stride, ranges.data());
    EXPECT_EQ(bytes.back(), std::byte{0x5a}) << "more was written than the rows";
  }

  // Returns the value that the stored number represents.
  double At(int64_t row, int64_t column) const {
    const std::byte* const from = bytes.data() + row * stride;
    if (is_of_bytes) {
      const RowRange range = ranges[static_cast<size_t>(row)];
      int number = 0;
      std::memcpy(&number, from + bytes_of_number * column, static_cast<size_t>(bytes_of_number));
      EXPECT_LE(number, 255);
      return range.least + double{range.step} * number;
    }
    cpu::Bf16 number;
    std::memcpy(&number, from + 2 * column, sizeof(number));
    return cpu::ToFloat(number);
  }

  const int64_t stride;
  std::vector<std::byte> bytes;
  std::vector<RowRange> ranges;
  const int64_t bytes_of_number;
  const bool is_of_bytes;
};

class NarrowKernelsTest : public ::testing::TestWithParam<Numbers> {
 protected:
  const NarrowKernels& kernels_ = *GetParam().kernels;
  const bool is_of_bytes_ = kernels_.of_bytes;
  // Error of NarrowGelu, which is larger with 16 lanes.
  const double gelu_error_ = kernels_.vector_columns == 16 ? 9.4e-5 : 0;

  // Returns the weights as rounded by the kernels, row by row.
  std::vector<double> Rounded(View<const float> weight) const {
    std::vector<double> rounded;
    for (int64_t i = 0; i < weight.rows; ++i) {
      float largest = 0;
      for (int64_t j = 0; j < weight.columns; ++j) largest = std::max(largest, std::abs(weight.Row(i)[j]));
      for (int64_t j = 0; j < weight.columns; ++j) {
        const float w = weight.Row(i)[j];
        const double unit = largest / 127.0;
        rounded.push_back(is_of_bytes_ ? std::round(w / unit) * unit : double{cpu::ToFloat(cpu::ToBf16(w))});
      }
    }
    return rounded;
  }

  NarrowGemmCall CallOf(const NarrowMatrix& matrix, const Taken& taken, int64_t rows, Activation activation) const {
    NarrowGemmCall call = matrix.Call();
    call.a = taken.bytes.data();
    call.a_stride = taken.stride;
    call.ranges = taken.ranges.data();
    call.rows = rows;
    call.activation = activation;
    return call;
  }
};
INSTANTIATE_TEST_SUITE_P(, NarrowKernelsTest, ::testing::ValuesIn(AllNumbers()),
                         [](const auto& info) { return info.param.name; });

TEST_P(NarrowKernelsTest, AProductWithFusedStepsAgreesWithTheFormula) {
  for (const int64_t rows : {1, 2, 7, 14, 15, 29, 33, 56}) {
    for (const int64_t outputs : {1, 10, 16, 17, 32, 40, 65}) {
      for (const int64_t inputs : {1, 37, 64, 150}) {
        const auto activation = static_cast<Activation>((rows + outputs + inputs) % 4);
        Matrix<float> a(rows, inputs, 3, NAN), weight(outputs, inputs), residual(rows, outputs, 2, NAN);
        Matrix<float> y(rows, outputs, 5, kUntouched);
        a.FillWithNoise(1);
        weight.FillWithNoise(2);
        residual.FillWithNoise(3);
        const std::vector<float> bias = NoiseVector(4, outputs);
        const NarrowMatrix matrix(std::as_const(weight).view(), bias.data(), kernels_);
        const std::vector<double> rounded = Rounded(weight.view());
        const Taken taken(kernels_, a.view(), -1);
        for (const bool adds : {false, true}) {
          NarrowGemmCall call = CallOf(matrix, taken, rows, activation);
          call.residual = adds ? residual.view().data : nullptr;
          call.residual_stride = residual.view().stride;
          call.y = y.view().data;
          call.y_stride = y.view().stride;
          kernels_.gemm(call);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < outputs; ++j) {
              double sum = bias[static_cast<size_t>(j)];
              for (int64_t k = 0; k < inputs; ++k) sum += taken.At(i, k) * rounded[static_cast<size_t>(j * inputs + k)];
              const double expected = Activated(activation, sum) + (adds ? residual.view().Row(i)[j] : 0);
              const double near = 3e-5 + (activation == Activation::kGelu ? gelu_error_ : 0);
              ASSERT_NEAR(y.view().Row(i)[j], expected, near) << rows << "x" << outputs << "x" << inputs;
            }
            for (int64_t j = outputs; j < outputs + 5; ++j) ASSERT_EQ(y.view().Row(i)[j], kUntouched);
          }
        }
      }
    }
  }
}

TEST_P(NarrowKernelsTest, BitsOfAProductRowDoNotDependOnOtherRows) {
  constexpr int64_t kRows = 41, kInputs = 50, kOutputs = 45;
  Matrix<float> a(kRows, kInputs), weight(kOutputs, kInputs), together(kRows, kOutputs), alone(1, kOutputs);
  a.FillWithNoise(1);
  weight.FillWithNoise(2);
  const NarrowMatrix matrix(std::as_const(weight).view(), nullptr, kernels_);
  const auto run = [&](View<const float> x, View<float> y) {
    const Taken taken(kernels_, x, 1e-6f);
    NarrowGemmCall call = CallOf(matrix, taken, x.rows, Activation::kGelu);
    call.y = y.data;
    call.y_stride = y.stride;
    kernels_.gemm(call);
  };
  for (int64_t rows = 1; rows <= kRows; ++rows) {
    const View<float> all = a.view();
    run({all.data, rows, kInputs, all.stride}, together.view());
    for (int64_t i = 0; i < rows; ++i) {
      run({all.Row(i), 1, kInputs, all.stride}, alone.view());
      for (int64_t j = 0; j < kOutputs; ++j) {
        ASSERT_EQ(alone.view().data[j], together.view().Row(i)[j]) << i << "/" << rows;
      }
    }
  }
}

// bf16 results equal the fp32 results, rounded to bf16.
TEST_P(NarrowKernelsTest, ResultsCanBeRoundedToBf16) {
  constexpr int64_t kRows = 17, kInputs = 24, kOutputs = 43;
  Matrix<float> a(kRows, kInputs), weight(kOutputs, kInputs), y(kRows, kOutputs);
  a.FillWithNoise(1);
  weight.FillWithNoise(2);
  const NarrowMatrix matrix(std::as_const(weight).view(), nullptr, kernels_);
  const Taken taken(kernels_, a.view(), -1);
  NarrowGemmCall call = CallOf(matrix, taken, kRows, Activation::kRelu);
  call.y = y.view().data;
  call.y_stride = kOutputs;
  kernels_.gemm(call);
  std::vector<cpu::Bf16> narrow(kRows * kOutputs);
  call.y = nullptr;
  call.narrow = narrow.data();
  kernels_.gemm(call);
  for (size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(cpu::ToFloat(narrow[i]), cpu::ToFloat(cpu::ToBf16(y.view().data[i]))) << i;
  }
}

// Rows consist of parts, as in a convolution. Each part begins a new group of inputs, so no group has inputs of two
// parts.
TEST_P(NarrowKernelsTest, RowsCanConsistOfParts) {
  constexpr int64_t kRows = 5, kPart = 9, kParts = 3, kOutputs = 20;
  Matrix<float> weight(kOutputs, kPart * kParts), y(kRows, kOutputs);
  weight.FillWithNoise(2);
  const std::vector<float> bias = NoiseVector(4, kOutputs);
  const NarrowMatrix matrix(std::as_const(weight).view(), bias.data(), kernels_, kParts);
  const std::vector<double> rounded = Rounded(weight.view());
  // Part p of row i is row p * kRows + i of one matrix. All parts of a row must have the same range, so the test gives
  // every row of this matrix the range -1 to 1.
  Matrix<float> a(kRows * kParts, kPart);
  a.FillWithNoise(1);
  for (int64_t i = 0; i < kRows * kParts; ++i) {
    a.view().Row(i)[0] = -1;
    a.view().Row(i)[1] = 1;
  }
  const Taken taken(kernels_, a.view(), -1);
  NarrowGemmCall call = CallOf(matrix, taken, kRows, Activation::kNone);
  call.a_stride = taken.stride;
  call.part_stride = kRows * taken.stride;
  call.y = y.view().data;
  call.y_stride = kOutputs;
  kernels_.gemm(call);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kOutputs; ++j) {
      double sum = bias[static_cast<size_t>(j)];
      for (int64_t k = 0; k < kPart * kParts; ++k) {
        sum += taken.At(i + k / kPart * kRows, k % kPart) * rounded[static_cast<size_t>(j * kPart * kParts + k)];
      }
      ASSERT_NEAR(y.view().Row(i)[j], sum, 3e-5) << i << ", " << j;
    }
  }
}

TEST_P(NarrowKernelsTest, QuantizedRowsAreWithinTheirTolerance) {
  for (const int64_t columns : {1, 3, 16, 31, 64, 130}) {
    for (const float epsilon : {-1.0f, 1e-2f}) {
      constexpr int64_t kRows = 7;
      Matrix<float> x(kRows, columns, 3, NAN);
      x.FillWithNoise(1);
      for (int64_t j = 0; j < columns; ++j) x.view().Row(3)[j] = 0.25f;  // all values are equal, so the range is zero
      const Taken taken(kernels_, x.view(), epsilon);
      for (int64_t i = 0; i < kRows; ++i) {
        double mean = 0, variance = 0, least = x.view().Row(i)[0], largest = least;
        for (int64_t j = 0; j < columns; ++j) {
          const double v = x.view().Row(i)[j];
          mean += v / static_cast<double>(columns);
          least = std::min(least, v);
          largest = std::max(largest, v);
        }
        for (int64_t j = 0; j < columns; ++j) {
          variance += std::pow(x.view().Row(i)[j] - mean, 2) / static_cast<double>(columns);
        }
        const double scale = epsilon < 0 ? 1 : 1 / std::sqrt(variance + epsilon), center = epsilon < 0 ? 0 : mean;
        for (int64_t j = 0; j < columns; ++j) {
          const double expected = (x.view().Row(i)[j] - center) * scale;
          const double near = is_of_bytes_ ? (largest - least) * scale / 254 * 0.501 : std::abs(expected) / 256;
          ASSERT_NEAR(taken.At(i, j), expected, near + 1e-5) << columns << " at " << i << ", " << j;
        }
      }
    }
  }
}

// Tests the GELU that the kernels apply to the results of a matrix product in bf16 or int8: in steps of 1e-4 from -6 to
// 6, where GELU is curved, and at a few other inputs.
TEST_P(NarrowKernelsTest, GeluAgreesWithTheFormulaForAllInputs) {
  constexpr int64_t kOutputs = 32;
  Matrix<float> weight(kOutputs, 1), zero(1, 1), y(1, kOutputs);
  std::fill_n(weight.view().data, kOutputs, 1.0f);
  zero.view().data[0] = 0;
  const Taken taken(kernels_, zero.view(), -1);
  for (int first = -60'000; first < 60'000; first += kOutputs) {
    std::vector<float> x(kOutputs);  // used as the bias; the product itself is zero
    for (int64_t j = 0; j < kOutputs; ++j) x[static_cast<size_t>(j)] = static_cast<float>(first + j) / 10'000;
    if (first == -60'000) x[0] = -1e6f, x[1] = 1e6f, x[2] = 0, x[3] = 1e-30f;
    const NarrowMatrix matrix(std::as_const(weight).view(), x.data(), kernels_);
    NarrowGemmCall call = CallOf(matrix, taken, 1, Activation::kGelu);
    call.y = y.view().data;
    call.y_stride = kOutputs;
    kernels_.gemm(call);
    for (size_t j = 0; j < kOutputs; ++j) {
      const double expected = 0.5 * x[j] * std::erfc(-x[j] / std::sqrt(2.0));
      ASSERT_NEAR(y.view().data[j], expected, std::abs(x[j]) > 6 ? 0 : gelu_error_ + 2e-6) << "at " << x[j];
    }
  }
}

// If the values of a row differ little relative to their size, the row has few quantization steps. Its bytes must not
// overflow.
TEST_P(NarrowKernelsTest, RowsFarFromZeroAreWithinTheirTolerance) {
  constexpr int64_t kColumns = 70;
  for (const float center : {1.0f, -1.0f, 300.0f, -300.0f, 1e6f, -1e-20f}) {
    for (const float relative : {1.0f, 1e-2f, 1e-4f, 1e-6f, 0.0f}) {
      Matrix<float> x(1, kColumns);
      x.FillWithNoise(1);
      float least = INFINITY, largest = -INFINITY;
      for (int64_t j = 0; j < kColumns; ++j) {
        float& v = x.view().data[j];
        v = center + center * relative * v;
        least = std::min(least, v);
        largest = std::max(largest, v);
      }
      const Taken taken(kernels_, x.view(), -1);
      const double size = std::max(std::abs(least), std::abs(largest));
      const double step = std::max<double>((largest - least) / 254, size / 262144);
      for (int64_t j = 0; j < kColumns; ++j) {
        const float v = x.view().data[j];
        const double near = is_of_bytes_ ? step * 0.6 : std::abs(v) / 256;
        ASSERT_NEAR(taken.At(0, j), v, near) << center << " by " << relative << " at " << j;
      }
    }
  }
}

// The largest possible sum must fit 32 bits.
TEST_P(NarrowKernelsTest, SumsOfTheLargestNumbersDoNotOverflow) {
  constexpr int64_t kInputs = 6144;
  Matrix<float> a(1, kInputs), weight(1, kInputs), y(1, 1);
  for (int64_t k = 0; k < kInputs; ++k) {
    a.view().data[k] = k == 0 ? 1 : 255;  // values that are stored as the same bytes
    weight.view().data[k] = 1;
  }
  const NarrowMatrix matrix(std::as_const(weight).view(), nullptr, kernels_);
  const Taken taken(kernels_, a.view(), -1);
  NarrowGemmCall call = CallOf(matrix, taken, 1, Activation::kNone);
  call.y = y.view().data;
  call.y_stride = 1;
  kernels_.gemm(call);
  EXPECT_NEAR(y.view().data[0], 255.0 * (kInputs - 1) + 1, 1);
  EXPECT_EQ(taken.At(0, 1), 255);
}

// Returns true if /proc/cpuinfo lists this flag.
bool ProcessorSays(const std::string& flag) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags")) return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return false;
}

TEST(FindKernels, EveryPathHasTheKernelsOfItsInstructions) {
  EXPECT_NE(FindBf16Kernels(cpu::CpuPath::kPortable), nullptr) << "every processor can count";
  EXPECT_NE(FindInt8Kernels(cpu::CpuPath::kPortable), nullptr);
  EXPECT_EQ(FindBf16Kernels(cpu::CpuPath::kAvx2), nullptr);
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    SCOPED_TRACE(cpu::Name(path));
    ASSERT_NE(FindKernels(path), nullptr);
    if (path == cpu::CpuPath::kPortable) continue;
    EXPECT_NE(FindKernels(path), FindKernels(cpu::CpuPath::kPortable));
#if defined(__x86_64__)
    EXPECT_EQ(FindBf16Kernels(path) != nullptr, path >= cpu::CpuPath::kAvx512Bf16);
    if (path == cpu::CpuPath::kAvx2) {
      EXPECT_EQ(FindInt8Kernels(path), ProcessorSays("avx_vnni") ? &kAvx2Int8Kernels : &kAvx2PairsKernels);
    } else {
      EXPECT_EQ(FindInt8Kernels(path) != nullptr, ProcessorSays("avx512_vnni"));
    }
    EXPECT_EQ(FindKernels(path) == FindKernels(cpu::CpuPath::kAvx2), path == cpu::CpuPath::kAvx2);
#endif
  }
}

}  // namespace
}  // namespace vitrine::engine
