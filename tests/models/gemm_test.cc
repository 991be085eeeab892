// SPDX-License-Identifier: Apache-2.0
// The CPU kernels against double arithmetic, on every path that this CPU can run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/kernels/cpu/bf16.h"
#include "models/kernels/cpu/fold.h"
#include "models/kernels/cpu/gelu.h"
#include "models/kernels/cpu/layer_norm.h"
#include "models/kernels/cpu/linear.h"
#include "models/kernels/cpu/workspace.h"
#include "tests/models/kernel_testing.h"

namespace vitrine::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double ExactGelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

float Rounded(float value, Precision precision) {
  return precision == Precision::kFp32 ? value : ToFloat(ToBf16(value));
}

PackedLinear Pack(const Matrix<float>& weight, const std::vector<float>& bias, const Variant& variant) {
  auto packed =
      PackedLinear::Pack(weight.view(), bias.empty() ? nullptr : bias.data(), variant.path, variant.precision);
  EXPECT_TRUE(packed.ok()) << packed.status();
  return std::move(packed).value();
}

// x in the precision of the variant, with even strides and a zero behind each row.
void Apply(const Matrix<float>& x, const PackedLinear& linear, const Epilogue& epilogue, Precision precision,
           View<float> y) {
  if (precision == Precision::kFp32) return ApplyLinear(x.view(), linear, epilogue, y);
  Matrix<Bf16> rounded(x.view().rows, x.view().columns, 2 + x.view().columns % 2);
  for (int64_t i = 0; i < x.view().rows; ++i) {
    for (int64_t j = 0; j < x.view().columns; ++j) rounded.view().Row(i)[j] = ToBf16(x.view().Row(i)[j]);
  }
  ApplyLinear(std::as_const(rounded).view(), linear, epilogue, y);
}

class Kernels : public testing::TestWithParam<Variant> {
 protected:
  const KernelTable& table() const { return *FindKernels(GetParam().path, GetParam().precision); }
};
INSTANTIATE_TEST_SUITE_P(, Kernels, testing::ValuesIn(SupportedVariants()),
                         [](const auto& info) { return NameOf(info.param); });

struct Shape {
  int64_t rows, inputs, outputs;
};

void ExpectLinearIsRight(const Shape& shape, const Variant& variant, Activation activation, bool with_residual) {
  SCOPED_TRACE(testing::Message() << shape.rows << " rows, " << shape.inputs << " -> " << shape.outputs);
  Matrix<float> x(shape.rows, shape.inputs, 3, kNan), weight(shape.outputs, shape.inputs, 1, kNan);
  Matrix<float> residual(shape.rows, shape.outputs, 2, kNan), y(shape.rows, shape.outputs, 5, 12345.f);
  x.FillWithNoise(1);
  weight.FillWithNoise(2);
  residual.FillWithNoise(3);
  const std::vector<float> bias = NoiseVector(4, shape.outputs);
  const PackedLinear linear = Pack(weight, bias, variant);
  Epilogue epilogue{.activation = activation};
  if (with_residual) epilogue.residual = std::as_const(residual).view();
  Apply(x, linear, epilogue, variant.precision, y.view());
  EXPECT_TRUE(y.GapsAreUntouched()) << "something was written behind a row";
  double worst = 0;
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.outputs; ++j) {
      double sum = bias[j], size = std::abs(bias[j]);
      for (int64_t k = 0; k < shape.inputs; ++k) {
        const double product = static_cast<double>(Rounded(x.view().Row(i)[k], variant.precision)) *
                               Rounded(weight.view().Row(j)[k], variant.precision);
        sum += product;
        size += std::abs(product);
      }
      if (activation == Activation::kGelu) sum = ExactGelu(sum);
      if (with_residual) sum += residual.view().Row(i)[j];
      const double error = std::abs(y.view().Row(i)[j] - sum) / (1 + size);
      worst = std::max(worst, std::isnan(error) ? 1e9 : error);
    }
  }
  EXPECT_LT(worst, 1e-6);
}

TEST_P(Kernels, LinearMatchesDoubleAtEveryEdgeOfTheTiles) {
  for (int64_t outputs : {1, 3, 4, 15, 16, 17, 33, 48, 63, 64, 65, 100}) {
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
      ExpectLinearIsRight({rows, 10, outputs}, GetParam(), Activation::kNone, false);
    }
  }
}

TEST_P(Kernels, LinearMatchesDoubleOverSlicesOfTheInputs) {
  for (int64_t inputs : {1, 2, 3, 127, 128, 129, 256, 257, 1000, 1025}) {
    ExpectLinearIsRight({7, inputs, 70}, GetParam(), Activation::kNone, false);
  }
}

TEST_P(Kernels, LinearMatchesDoubleOverChunksOfRowsWithEachEpilogue) {
  for (int64_t rows : {95, 96, 97, 200}) {
    ExpectLinearIsRight({rows, 250, 40}, GetParam(), Activation::kGelu, false);
    ExpectLinearIsRight({rows, 300, 70}, GetParam(), Activation::kNone, true);
    ExpectLinearIsRight({rows, 64, 17}, GetParam(), Activation::kGelu, true);
  }
}

TEST_P(Kernels, LinearMayAddToItsOwnResidual) {
  const Matrix<float> untouched(50, 70);
  Matrix<float> x(50, 300), weight(70, 300), apart(50, 70), residual(50, 70), in_place(50, 70);
  x.FillWithNoise(1);
  weight.FillWithNoise(2);
  residual.FillWithNoise(3);
  in_place.FillWithNoise(3);
  const PackedLinear linear = Pack(weight, {}, GetParam());
  Apply(x, linear, {.residual = residual.view()}, GetParam().precision, apart.view());
  Apply(x, linear, {.residual = in_place.view()}, GetParam().precision, in_place.view());
  EXPECT_TRUE(SameBits<float>(apart.view(), in_place.view()));
  EXPECT_FALSE(SameBits<float>(apart.view(), untouched.view()));
}

// The contract that batches rest on. Each row stands at another place of a tile and a chunk for each number of rows
// before it; 257 inputs make several slices, 70 outputs a panel that is not full.
TEST_P(Kernels, EveryRowIsBitIdenticalWhateverSharesItsCall) {
  constexpr int64_t kRows = 110;
  Matrix<float> x(kRows, 257), weight(70, 257), residual(kRows, 70), all(kRows, 70);
  x.FillWithNoise(1);
  weight.FillWithNoise(2);
  residual.FillWithNoise(3);
  const PackedLinear linear = Pack(weight, NoiseVector(4, 70), GetParam());
  const Epilogue epilogue{.activation = Activation::kGelu, .residual = residual.view()};
  Apply(x, linear, epilogue, GetParam().precision, all.view());
  for (int64_t first = 0; first < kRows; ++first) {
    for (int64_t rows : {1, 2, 3, 5, 6, 11, 40, 97}) {
      if (first + rows > kRows) continue;
      Matrix<float> some_x(rows, 257), some_residual(rows, 70), some(rows, 70);
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(x.view().Row(first + i), 257, some_x.view().Row(i));
        std::copy_n(residual.view().Row(first + i), 70, some_residual.view().Row(i));
      }
      Apply(some_x, linear, {.activation = Activation::kGelu, .residual = some_residual.view()}, GetParam().precision,
            some.view());
      ASSERT_TRUE(SameBits<float>(some.view(), all.view().Rows(first, rows)))
          << rows << " rows from " << first << " differ from the same rows among " << kRows;
    }
  }
}

TEST(Bf16Kernels, ResultsArePairsFilledUpWithZero) {
  const Variant variant = {BestPath(), Precision::kBf16};
  if (!Supports(variant.path, variant.precision)) GTEST_SKIP() << "this CPU has no bf16 instructions";
  Matrix<Bf16> x(7, 31, 1), y(7, 17, 3, Bf16{0x4321});
  Matrix<float> weight(17, 31), y32(7, 17);
  for (int64_t i = 0; i < 7 * 32; ++i) {
    if (i % 32 < 31) x.view().data[i] = ToBf16(Noise(1, i));
  }
  weight.FillWithNoise(2);
  const PackedLinear linear = Pack(weight, NoiseVector(4, 17), variant);
  const Epilogue epilogue{.activation = Activation::kGelu};
  ApplyLinear(std::as_const(x).view(), linear, epilogue, y.view());
  ApplyLinear(std::as_const(x).view(), linear, epilogue, y32.view());
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t j = 0; j < 17; ++j) EXPECT_EQ(y.view().Row(i)[j], ToBf16(y32.view().Row(i)[j])) << i << ", " << j;
    EXPECT_EQ(y.view().Row(i)[17], Bf16{0}) << "the next layer reads this as the second of a pair";
    EXPECT_EQ(y.view().Row(i)[18], Bf16{0x4321});
  }
}

TEST_P(Kernels, GeluMatchesErf) {
  std::vector<float> x;
  for (int i = -1'600'000; i <= 1'600'000; ++i) x.push_back(static_cast<float>(i) * 1e-5f);
  for (float size = 1e-30f; size < 1e30f; size *= 1.7f) x.insert(x.end(), {size, -size});
  std::vector<float> y(x.size());
  Gelu(table(), x.data(), y.data(), x.size());
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
  Gelu(table(), x.data(), x.data(), x.size());  // in place, with a part of a vector at the end
  EXPECT_THAT(x, testing::ElementsAre(5.5f, 6, 100, 3e38f, 0, 0, 0, 0, 0));
}

TEST_P(Kernels, NormalizeRowsMatchesDouble) {
  for (int64_t columns : {1, 3, 16, 31, 32, 33, 64, 250, 768}) {
    for (float mean : {0.f, 30.f}) {
      Matrix<float> x(5, columns, 3, kNan);
      x.FillWithNoise(7);
      for (int64_t i = 0; i < 5; ++i) {
        for (int64_t j = 0; j < columns; ++j) x.view().Row(i)[j] += mean;
      }
      Matrix<float> y(5, columns, 4, 12345.f);
      Matrix<Bf16> y16(5, columns, 3 + columns % 2, Bf16{0x4321});
      const bool fp32 = GetParam().precision == Precision::kFp32;
      if (fp32) {
        NormalizeRows(table(), std::as_const(x).view(), 1e-6f, y.view());
        EXPECT_TRUE(y.GapsAreUntouched()) << columns << " columns";
      } else {
        NormalizeRows(table(), std::as_const(x).view(), 1e-6f, y16.view());
      }
      for (int64_t i = 0; i < 5; ++i) {
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < columns; ++j) sum += x.view().Row(i)[j];
        for (int64_t j = 0; j < columns; ++j) squares += std::pow(x.view().Row(i)[j] - sum / columns, 2);
        for (int64_t j = 0; j < columns; ++j) {
          const double exact = (x.view().Row(i)[j] - sum / columns) / std::sqrt(squares / columns + 1e-6);
          const double got = fp32 ? y.view().Row(i)[j] : ToFloat(y16.view().Row(i)[j]);
          ASSERT_NEAR(got, exact, fp32 ? 2e-6 * (1 + mean) : 4e-3 * (1 + std::abs(exact))) << columns << " columns";
        }
        if (!fp32 && columns % 2 == 1) {
          EXPECT_EQ(y16.view().Row(i)[columns], Bf16{0});
        }
      }
    }
  }
}

TEST(PackedLinear, RefusesWhatTheCpuCannotRun) {
  Matrix<float> weight(4, 4);
  const auto packed = PackedLinear::Pack(weight.view(), nullptr, CpuPath::kPortable, Precision::kBf16);
  EXPECT_EQ(packed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(packed.status().message(), testing::HasSubstr("cannot run the bf16 kernels of portable"));
  EXPECT_EQ(PackedLinear::Pack({}, nullptr, BestPath(), Precision::kFp32).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Fold, ScaleAndShiftMoveIntoTheWeights) {
  const std::vector<float> weight = {1, 2, 3, 4}, bias = {10, 20}, scale = {2, 0.5f}, shift = {-1, 4};
  const LinearWeights folded = FoldInput({weight.data(), 2, 2, 2}, bias.data(), scale.data(), shift.data());
  EXPECT_THAT(folded.weight, testing::ElementsAre(2, 1, 6, 2));
  EXPECT_THAT(folded.bias, testing::ElementsAre(10 - 1 + 8, 20 - 3 + 16));
  EXPECT_EQ(folded.matrix().rows, 2);
}

TEST(Workspace, TakesAndGivesBackLikeAStack) {
  Workspace workspace(Workspace::Bytes<float>(3, 250) + Workspace::Bytes<Bf16>(2, 7));
  float* first = nullptr;
  for (int round = 0; round < 2; ++round) {
    Workspace::Scope scope(workspace);
    const View<float> a = scope.Take<float>(3, 250);
    const View<Bf16> b = scope.Take<Bf16>(2, 7);
    if (round == 0) first = a.data;
    EXPECT_EQ(a.data, first) << "the second round must find what the first gave back";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data) % kAlignment, 0u);
    EXPECT_GE(reinterpret_cast<std::byte*>(b.data), reinterpret_cast<std::byte*>(a.Row(2) + 250));
  }
}

TEST(Workspace, RowsStartOnCacheLinesAndSpreadOverTheSets) {
  for (int64_t columns : {1, 16, 128, 250, 256, 1000, 1024, 3072}) {
    const int64_t bytes = Workspace::Stride<float>(columns) * 4;
    EXPECT_GE(bytes, columns * 4);
    EXPECT_EQ(bytes % kAlignment, 0);
    EXPECT_NE(bytes % 512, 0);
  }
}

TEST(WorkspaceDeathTest, EndsTheProcessRatherThanOverwrite) {
  Workspace workspace(1024);
  Workspace::Scope scope(workspace);
  EXPECT_DEATH(scope.Take<float>(3, 100), "workspace of 1024 bytes is too small");
}

}  // namespace
}  // namespace vitrine::cpu
