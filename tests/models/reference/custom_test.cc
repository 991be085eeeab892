// SPDX-License-Identifier: Apache-2.0
// Tests the operator Custom, which calls a function of a family: the arguments and the gradient of the function, and
// the features of a program with this operator.
#include "models/reference/operators/custom.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <utility>

#include "models/program/abilities.h"
#include "models/program/builder.h"
#include "models/reference/initializer.h"
#include "models/reference/interpreter.h"
#include "models/reference/operators/token_sequence.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;

// Computes y = x^2 times the row number in the grid, counting from 1.
void Squares(Grid grid, int64_t columns, const float* x, float* y) {
  for (int64_t i = 0; i < grid.cells() * columns; ++i) {
    const int64_t row = i / columns / grid.columns;
    y[i] = x[i] * x[i] * static_cast<float>(1 + row);
  }
}
void SquaresGradient(Grid grid, int64_t columns, const float* x, const float* dy, float* dx) {
  for (int64_t i = 0; i < grid.cells() * columns; ++i) {
    const int64_t row = i / columns / grid.columns;
    dx[i] = 2 * x[i] * dy[i] * static_cast<float>(1 + row);
  }
}
const program::Custom kSquares = {"squares", Squares, SquaresGradient};

TEST(CustomOperator, GetsEveryImageWithItsGrid) {
  const auto layout = TokenLayout::Make({{2, 3}, {2, 3}, {4, 1}}, 0);
  constexpr int64_t kPadding = 2;
  const at::Tensor x = Hashed({layout->total_tokens() + kPadding, 5}, 1).set_requires_grad(true);
  const at::Tensor expected_x = x.detach().clone().set_requires_grad(true);
  const at::Tensor rows = Hashed({16, 1}, 1).fill_(1);
  for (const int cell : {3, 4, 5, 9, 10, 11, 13}) rows[cell].fill_(2);
  rows[14].fill_(3);
  rows[15].fill_(4);
  const at::Tensor y = RunCustom({x, layout}, kSquares);
  const at::Tensor expected = expected_x.narrow(0, 0, 16).pow(2) * rows;
  EXPECT_LT(Difference(y.narrow(0, 0, 16), expected), 1e-6);
  EXPECT_EQ(y.narrow(0, 16, kPadding).abs().max().item<double>(), 0);
  const at::Tensor direction = Hashed({16, 5}, 2);
  (y.narrow(0, 0, 16) * direction).sum().backward();
  (expected * direction).sum().backward();
  EXPECT_LT(Difference(x.grad(), expected_x.grad()), 1e-6);
}

TEST(CustomOperator, RunsInAProgramWithMeanTokens) {
  program::Builder b(3);
  const program::Value x = b.Custom("squares", b.Patchify(2), kSquares);
  b.FinalTokens(x);
  const program::Program program = b.Take(b.MeanTokens(x));
  EXPECT_EQ(program::FeaturesOf(program).kinds, (std::vector<v1::FeatureKind>{v1::MEAN_TOKEN, v1::PATCH_TOKENS}));
  const at::NoGradGuard no_grad;
  const ImageBatch images{testing::RandomImage(3, 2, 4, 1), testing::RandomImage(3, 6, 2, 2)};
  const at::Tensor means = Interpreter(program).Run({}, images, {});
  EXPECT_EQ(means.sizes(), at::IntArrayRef({2, 12}));
  for (int i = 0; i < 2; ++i) {
    double expected = 0;
    const int rows = i == 0 ? 1 : 3;
    for (int row = 0; row < rows; ++row) {
      expected += (row + 1) * images[i].narrow(1, 2 * row, 2).pow(2).sum().item<double>();
    }
    EXPECT_NEAR(means[i].sum().item<double>(), expected / (i == 0 ? 2 : 3), 1e-5);
  }
}

}  // namespace
}  // namespace vitrine
