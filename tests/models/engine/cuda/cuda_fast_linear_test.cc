// SPDX-License-Identifier: Apache-2.0
// Compares the fast linear layers with the plain kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "models/engine/cuda/launches/fast_kernels.h"
#include "models/engine/cuda/launches/matrices.h"
#include "tests/models/engine/cuda/row_launches.h"

namespace vitrine::testing {
namespace {

using cuda::FastLinearArguments;
using cuda::Matrix;
using cuda::MatrixLayout;
using engine::Activation;

struct LinearCase {
  int rows, inputs, outputs;
  bool norm = false, residual = false;
  Activation activation = Activation::kNone;
  friend void PrintTo(const LinearCase& c, std::ostream* out) {
    *out << c.rows << " rows, " << c.inputs << " to " << c.outputs << (c.norm ? ", norm" : "")
         << (c.residual ? ", residual" : "") << ", activation " << static_cast<int>(c.activation);
  }
};

// Runs the linear layer of a case with different kernels. Each run has its own device, so that no kernel depends on an
// earlier kernel.
class Layers {
 public:
  Layers(const LinearCase& of, Precision precision, std::vector<float> x)
      : case_(of),
        precision_(precision),
        matrix_(RandomMatrix(of.inputs, of.outputs, precision, 2)),
        x_(std::move(x)),
        residual_(RandomFloats(static_cast<size_t>(of.rows * of.outputs), 4)) {}
  Layers(const LinearCase& of, Precision precision)
      : Layers(of, precision, RandomFloats(static_cast<size_t>(of.rows * of.inputs), 1)) {}

  std::vector<float> Plain() {
    RowLaunches device(case_.rows);
    cuda::DeviceMatrices matrices(device.buffers());
    const cuda::DeviceMatrix& weights = matrices.Find(matrix_, MatrixLayout::kByInputs);
    const Matrix x = device.Upload(x_, case_.inputs), y = device.Allocate(case_.outputs);
    const Matrix residual = case_.residual ? device.Upload(residual_, case_.outputs) : Matrix();
    const cuda::RowStatistics* const statistics = case_.norm ? device.Describe(x) : nullptr;
    if (precision_ == Precision::kInt8) {
      auto* const bytes = device.buffers().Allocate<uint8_t>(static_cast<size_t>(case_.rows * case_.inputs));
      auto* const ranges = device.buffers().Allocate<cuda::ByteRange>(static_cast<size_t>(case_.rows));
      device.Run(MakeLaunch("quantize", "vitrine_quantize_rows",
                            cuda::QuantizeArguments{device.batch(), x, statistics, bytes, ranges}));
      device.Run(
          MakeLaunch("plain", "vitrine_linear_int8",
                     cuda::LinearBytesArguments{device.batch(), bytes, ranges, case_.inputs, y, residual, weights.int8,
                                                weights.bias, weights.scale, weights.sums, case_.activation}));
    } else {
      const bool fp32 = precision_ == Precision::kFp32;
      const void* const numbers = fp32 ? static_cast<const void*>(weights.fp32) : weights.bf16;
      device.Run(MakeLaunch(
          "plain", fp32 ? "vitrine_linear_fp32" : "vitrine_linear_bf16",
          cuda::LinearArguments{device.batch(), x, y, residual, statistics, numbers, weights.bias, case_.activation}));
    }
    return device.Get(y);
  }

  std::vector<float> Fast(const cuda::emulated::MachineOptions& machine = {}) {
    RowLaunches device(case_.rows, machine);
    const std::vector<float> y = FastOn(device);
    shared_ = device.machine().counters().Total(/*is_shared=*/true);
    return y;
  }
  // Runs the fast kernel with x and y in bf16.
  std::vector<float> Narrow() {
    RowLaunches device(case_.rows);
    cuda::DeviceMatrices matrices(device.buffers());
    const engine::LinearStep step = {.x = {}, .y = {}, .activation = case_.activation, .matrix = matrix_};
    FastLinearArguments arguments =
        cuda::FastArguments(step, device.batch(), device.Upload(x_, case_.inputs, /*narrow=*/true),
                            device.Allocate(case_.outputs, /*narrow=*/true), Matrix());
    cuda::SetWeights(arguments, matrices.Find(matrix_, MatrixLayout::kByOutputs));
    device.Run(cuda::FastLinear("fast", arguments, precision_));
    return device.Get(arguments.y);
  }
  // Returns the shared-memory traffic of the last call of Fast, if its machine counts traffic.
  const cuda::emulated::Traffic& shared() const { return shared_; }

 private:
  std::vector<float> FastFp32On(RowLaunches& device) {
    cuda::DeviceMatrices matrices(device.buffers());
    const cuda::DeviceMatrix& weights = matrices.Find(matrix_, MatrixLayout::kByInputs);
    const Matrix x = device.Upload(x_, case_.inputs), y = device.Allocate(case_.outputs);
    const cuda::LinearArguments arguments = {device.batch(),
                                             x,
                                             y,
                                             case_.residual ? device.Upload(residual_, case_.outputs) : Matrix(),
                                             case_.norm ? device.Describe(x) : nullptr,
                                             weights.fp32,
                                             weights.bias,
                                             case_.activation};
    EXPECT_TRUE(cuda::SuitsFastLinear(arguments));
    device.Run(cuda::FastLinear("fast", arguments));
    return device.Get(y);
  }
  std::vector<float> FastOn(RowLaunches& device) {
    if (precision_ == Precision::kFp32) return FastFp32On(device);
    cuda::DeviceMatrices matrices(device.buffers());
    const Matrix x = device.Upload(x_, case_.inputs);
    engine::LinearStep step = {.x = {}, .y = {}, .activation = case_.activation, .matrix = matrix_};
    if (case_.norm) step.norm_epsilon = kEpsilon;
    const Matrix residual = case_.residual ? device.Upload(residual_, case_.outputs) : Matrix();
    FastLinearArguments arguments =
        cuda::FastArguments(step, device.batch(), x, device.Allocate(case_.outputs), residual);
    if (case_.norm && !arguments.normalizes) arguments.statistics = device.Describe(x);
    cuda::SetWeights(arguments, matrices.Find(matrix_, MatrixLayout::kByOutputs));
    EXPECT_TRUE(cuda::SuitsFastLinear(step, arguments));
    device.Run(cuda::FastLinear("fast", arguments, precision_));
    return device.Get(arguments.y);
  }

  const LinearCase case_;
  const Precision precision_;
  const engine::FoldedMatrix matrix_;
  const std::vector<float> x_, residual_;
  cuda::emulated::Traffic shared_;
};

// Each mma instruction truncates its sum at 2^-24 of the largest term.
void ExpectClose(const std::vector<float>& ours, const std::vector<float>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 2e-5) << i;
}

constexpr LinearCase kCases[] = {
    {.rows = 1, .inputs = 16, .outputs = 4},
    {.rows = 31, .inputs = 48, .outputs = 100, .norm = true, .activation = Activation::kGelu},
    {.rows = 33, .inputs = 80, .outputs = 64, .residual = true},
    {.rows = 127, .inputs = 64, .outputs = 16, .norm = true, .residual = true},
    {.rows = 128, .inputs = 128, .outputs = 72, .norm = true, .activation = Activation::kRelu},
    {.rows = 130, .inputs = 32, .outputs = 132, .residual = true, .activation = Activation::kGelu},
    {.rows = 3, .inputs = 176, .outputs = 196, .norm = true},
    {.rows = 5, .inputs = 256, .outputs = 68, .norm = true},
    {.rows = 65, .inputs = 272, .outputs = 12, .norm = true, .residual = true},
    {.rows = 2, .inputs = 512, .outputs = 72, .norm = true, .activation = Activation::kGelu},
    {.rows = 2, .inputs = 512, .outputs = 132},
};

class CudaFastLinear : public ::testing::TestWithParam<LinearCase> {};

TEST_P(CudaFastLinear, Bf16IsCloseToThePlainKernels) {
  Layers layers(GetParam(), Precision::kBf16);
  ExpectClose(layers.Fast(), layers.Plain());
}

TEST_P(CudaFastLinear, Int8EqualsThePlainKernelsBitForBit) {
  Layers layers(GetParam(), Precision::kInt8);
  EXPECT_TRUE(SameBits(layers.Fast(), layers.Plain()));
}

TEST_P(CudaFastLinear, Fp32EqualsThePlainKernelsBitForBit) {
  Layers layers(GetParam(), Precision::kFp32);
  EXPECT_TRUE(SameBits(layers.Fast(), layers.Plain()));
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaFastLinear, ::testing::ValuesIn(kCases));

TEST(CudaFastLinearRounding, Bf16IsAccurateInEveryRoundingModel) {
  for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
    for (const LinearCase& of : {LinearCase{.rows = 33, .inputs = 80, .outputs = 64, .norm = true, .residual = true},
                                 {.rows = 3, .inputs = 592, .outputs = 68}}) {
      SCOPED_TRACE(::testing::PrintToString(of));
      Layers layers(of, Precision::kBf16);
      ExpectClose(layers.Fast({.rounding = rounding}), layers.Plain());
    }
  }
}

TEST(CudaFastLinearLongRows, AgreeWithThePlainKernels) {
  for (const bool norm : {false, true}) {
    Layers bf16({.rows = 3, .inputs = 592, .outputs = 68, .norm = norm}, Precision::kBf16);
    ExpectClose(bf16.Fast(), bf16.Plain());
    Layers int8({.rows = 3, .inputs = 1024, .outputs = 20, .norm = norm}, Precision::kInt8);
    EXPECT_TRUE(SameBits(int8.Fast(), int8.Plain()));
  }
}

TEST(CudaFastLinearNarrowRows, EqualRoundedRowsBitForBit) {
  for (const LinearCase& of : {LinearCase{.rows = 70, .inputs = 80, .outputs = 132},
                               {.rows = 5, .inputs = 336, .outputs = 64, .activation = Activation::kGelu},
                               {.rows = 130, .inputs = 592, .outputs = 20}}) {
    const std::vector<float> x = RandomFloats(static_cast<size_t>(of.rows * of.inputs), 1);
    const std::vector<float> rounded = Layers(of, Precision::kBf16, RoundedToBf16(x)).Fast();
    EXPECT_TRUE(SameBits(Layers(of, Precision::kBf16, x).Narrow(), RoundedToBf16(rounded)))
        << ::testing::PrintToString(of);
  }
}

// The blocks of a launch divide the tiles among themselves. Different blocks may compute tiles of the same rows.
TEST(CudaFastLinearBits, DoNotDependOnSmsAndSchedule) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
    Layers layers({.rows = 140, .inputs = 48, .outputs = 260, .norm = true, .residual = true}, precision);
    const std::vector<float> y = layers.Fast();
    EXPECT_TRUE(SameBits(layers.Fast({.seed = 2, .sms = 1}), y));
    EXPECT_TRUE(SameBits(layers.Fast({.seed = 3, .sms = 132}), y));
  }
}

TEST(CudaFastLinearBits, DoNotDependOnTheRowsPosition) {
  const LinearCase all = {.rows = 131, .inputs = 32, .outputs = 20, .norm = true, .activation = Activation::kGelu};
  const std::vector<float> x = RandomFloats(static_cast<size_t>(all.rows * all.inputs), 1);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
    const std::vector<float> y = Layers(all, precision, x).Fast();
    for (const int row : {0, 9, 40, 127, 128, 130}) {
      LinearCase alone = all;
      alone.rows = 1;
      const auto begin = x.begin() + row * all.inputs;
      const std::vector<float> of_row = Layers(alone, precision, {begin, begin + all.inputs}).Fast();
      EXPECT_EQ(std::memcmp(of_row.data(), &y[static_cast<size_t>(row * all.outputs)],
                            static_cast<size_t>(all.outputs) * sizeof(float)),
                0)
          << row;
    }
  }
}

TEST(CudaFastLinearBits, NanAffectsOnlyItsRow) {
  for (const bool norm : {false, true}) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
      const LinearCase of = {.rows = 20, .inputs = 48, .outputs = 68, .norm = norm, .activation = Activation::kRelu};
      std::vector<float> x = RandomFloats(static_cast<size_t>(of.rows * of.inputs), 1);
      x[static_cast<size_t>(7 * of.inputs + 5)] = NAN;
      const std::vector<float> y = Layers(of, precision, x).Fast();
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 68 == 7) << i;
    }
  }
}

TEST(CudaFastLinearTraffic, HasNoBankConflicts) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    Layers layers({.rows = 64, .inputs = 128, .outputs = 128, .residual = true}, precision);
    static_cast<void>(layers.Fast({.sms = 1, .counts = true}));
    EXPECT_EQ(layers.shared().passes, layers.shared().least_passes) << Name(precision);
  }
}

}  // namespace
}  // namespace vitrine::testing
