// SPDX-License-Identifier: Apache-2.0
// Compares the fast perceptron kernel with two plain linear layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <vector>

#include "models/engine/cuda/launches/fast_kernels.h"
#include "models/engine/cuda/launches/matrices.h"
#include "tests/models/engine/cuda/row_launches.h"

namespace vitrine::testing {
namespace {

using cuda::Matrix;
using cuda::MatrixLayout;
using engine::Activation;

struct PerceptronCase {
  int rows, width, hidden;
  bool norm = true, residual = true;
  Activation activation = Activation::kGelu;
  friend void PrintTo(const PerceptronCase& c, std::ostream* out) {
    *out << c.rows << " rows of " << c.width << ", " << c.hidden << " hidden units" << (c.norm ? ", norm" : "")
         << (c.residual ? ", residual" : "") << ", activation " << static_cast<int>(c.activation);
  }
};

// Runs the fast kernel. The residual is x, as in a model.
std::vector<float> FastPerceptronOf(const PerceptronCase& of, const std::vector<float>& x,
                                    const cuda::emulated::MachineOptions& machine = {},
                                    cuda::emulated::Traffic* shared = nullptr) {
  RowLaunches device(of.rows, machine);
  cuda::DeviceMatrices first(device.buffers()), second(device.buffers());
  engine::PerceptronStep step;
  step.first.matrix = RandomMatrix(of.width, of.hidden, Precision::kBf16, 2);
  step.second.matrix = RandomMatrix(of.hidden, of.width, Precision::kBf16, 4);
  step.first.activation = of.activation;
  if (of.norm) step.first.norm_epsilon = kEpsilon;
  const Matrix rows = device.Upload(x, of.width);
  cuda::PerceptronArguments arguments =
      cuda::FastArguments(step, device.batch(), rows, device.Allocate(of.width), of.residual ? rows : Matrix());
  EXPECT_TRUE(cuda::SuitsFastPerceptron(step, arguments));
  cuda::SetWeights(arguments, first.Find(step.first.matrix, MatrixLayout::kByOutputs),
                   second.Find(step.second.matrix, MatrixLayout::kByOutputs));
  device.Run(cuda::FastPerceptron("fast", arguments));
  if (shared != nullptr) *shared = device.machine().counters().Total(/*is_shared=*/true);
  return device.Get(arguments.y);
}

std::vector<float> PlainPerceptronOf(const PerceptronCase& of, const std::vector<float>& x) {
  RowLaunches device(of.rows);
  cuda::DeviceMatrices first(device.buffers()), second(device.buffers());
  const auto up = first.Find(RandomMatrix(of.width, of.hidden, Precision::kBf16, 2), MatrixLayout::kByInputs);
  const auto down = second.Find(RandomMatrix(of.hidden, of.width, Precision::kBf16, 4), MatrixLayout::kByInputs);
  const Matrix rows = device.Upload(x, of.width), hidden = device.Allocate(of.hidden), y = device.Allocate(of.width);
  const cuda::RowStatistics* const statistics = of.norm ? device.Describe(rows) : nullptr;
  device.Run(MakeLaunch(
      "up", "vitrine_linear_bf16",
      cuda::LinearArguments{device.batch(), rows, hidden, Matrix(), statistics, up.bf16, up.bias, of.activation}));
  device.Run(MakeLaunch("down", "vitrine_linear_bf16",
                        cuda::LinearArguments{device.batch(), hidden, y, of.residual ? rows : Matrix(), nullptr,
                                              down.bf16, down.bias, Activation::kNone}));
  return device.Get(y);
}

std::vector<float> RandomRows(const PerceptronCase& of) {
  return RandomFloats(static_cast<size_t>(of.rows * of.width), 1);
}

// If sums differ, a hidden unit may be rounded to another bf16 number, which differs by up to 2^-8 of the unit's value.
// Each output then differs by this difference times a weight.
void ExpectCloseToTwoPlainLayers(const PerceptronCase& of, const cuda::emulated::MachineOptions& machine = {}) {
  const std::vector<float> x = RandomRows(of), y = FastPerceptronOf(of, x, machine),
                           expected = PlainPerceptronOf(of, x);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double difference = std::abs(y[i] - expected[i]);
    sum += difference;
    ASSERT_LE(difference, 2e-2) << i;
  }
  EXPECT_LE(sum / static_cast<double>(y.size()), 2e-4);
}

class CudaFastPerceptron : public ::testing::TestWithParam<PerceptronCase> {};

TEST_P(CudaFastPerceptron, IsCloseToTwoPlainLayers) {
  ExpectCloseToTwoPlainLayers(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaFastPerceptron,
                         ::testing::Values(PerceptronCase{1, 128, 64},
                                           PerceptronCase{33, 128, 192, false, false, Activation::kRelu},
                                           PerceptronCase{129, 128, 64}, PerceptronCase{17, 192, 128},
                                           PerceptronCase{130, 192, 64, false}, PerceptronCase{16, 256, 128},
                                           PerceptronCase{5, 256, 64, true, false}, PerceptronCase{129, 256, 64}));

TEST(CudaFastPerceptronRounding, IsAccurateInEveryModel) {
  for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
    ExpectCloseToTwoPlainLayers({17, 192, 128}, {.rounding = rounding});
  }
}

TEST(CudaFastPerceptronBits, DoNotDependOnSmsAndSchedule) {
  const PerceptronCase of = {140, 128, 128};
  const std::vector<float> x = RandomRows(of), y = FastPerceptronOf(of, x);
  EXPECT_TRUE(SameBits(FastPerceptronOf(of, x, {.seed = 2, .sms = 1}), y));
  EXPECT_TRUE(SameBits(FastPerceptronOf(of, x, {.seed = 3, .sms = 132}), y));
}

TEST(CudaFastPerceptronBits, DoNotDependOnTheRowsPosition) {
  for (const PerceptronCase& of :
       {PerceptronCase{35, 128, 64}, PerceptronCase{35, 192, 64}, PerceptronCase{20, 256, 64}}) {
    const std::vector<float> x = RandomRows(of), y = FastPerceptronOf(of, x);
    const auto row = [&](const std::vector<float>& rows, int i) {
      return std::vector<float>(rows.begin() + i * of.width, rows.begin() + (i + 1) * of.width);
    };
    PerceptronCase alone = of;
    alone.rows = 1;
    for (const int i : {0, 9, of.rows - 1}) EXPECT_TRUE(SameBits(FastPerceptronOf(alone, row(x, i)), row(y, i))) << i;
  }
}

TEST(CudaFastPerceptronBits, NanAffectsOnlyItsRow) {
  for (const bool norm : {false, true}) {
    const PerceptronCase of = {20, 128, 64, norm, false, Activation::kRelu};
    std::vector<float> x = RandomRows(of);
    x[7 * 128 + 5] = NAN;
    const std::vector<float> y = FastPerceptronOf(of, x);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 128 == 7) << i;
  }
}

TEST(CudaFastPerceptronTraffic, HasNoBankConflicts) {
  for (const int width : {128, 256}) {
    const PerceptronCase of = {64, width, 64, false, true, Activation::kNone};
    cuda::emulated::Traffic shared;
    static_cast<void>(FastPerceptronOf(of, RandomRows(of), {.sms = 1, .counts = true}, &shared));
    EXPECT_EQ(shared.passes, shared.least_passes) << width;
  }
}

}  // namespace
}  // namespace vitrine::testing
