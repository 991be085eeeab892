// SPDX-License-Identifier: Apache-2.0
#include "models/attention_distance.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace vitrine {
namespace {

double Distance(const at::Tensor& weights, Grid grid, int prefix, int cell, bool keep_class_mass = false) {
  return AttentionDistance(weights, grid, prefix, cell, keep_class_mass)[0].item<double>();
}

// The values of the specification for uniform attention, in pixels.
TEST(AttentionDistance, OfUniformAttentionIsTheGridsMean) {
  const struct {
    int side, cell;
    double pixels;
  } kCases[] = {{8, 4, 16.545931}, {10, 3, 15.560617}, {16, 2, 16.652150}, {14, 16, 116.492227}};
  for (const auto& [side, cell, pixels] : kCases) {
    const int64_t n = side * side;
    const at::Tensor uniform = at::full({1, n + 1, n + 1}, 1.0 / (n + 1), at::kDouble);
    EXPECT_NEAR(Distance(uniform, {side, side}, 1, cell), pixels, 1e-6) << side;
    EXPECT_NEAR(Distance(uniform, {side, side}, 1, cell, true), pixels * n / (n + 1), 1e-6) << side;
  }
}

TEST(AttentionDistance, OfIdentityIsZero) {
  EXPECT_EQ(Distance(at::eye(17, at::kDouble).unsqueeze(0), {4, 4}, 1, 4), 0);
}

// Every patch looks at its right neighbour, those at the edge at themselves: p (g - 1) / g.
TEST(AttentionDistance, OfTheRightNeighbour) {
  constexpr int kSide = 8;
  const at::Tensor weights = at::zeros({1, kSide * kSide, kSide * kSide}, at::kDouble);
  for (int i = 0; i < kSide * kSide; ++i) weights[0][i][i % kSide == kSide - 1 ? i : i + 1] = 1;
  EXPECT_NEAR(Distance(weights, {kSide, kSide}, 0, 4), 4.0 * 7 / 8, 1e-12);
}

// Of any single pair of opposite corners: the largest distance there is.
TEST(AttentionDistance, IsLargestBetweenCorners) {
  const at::Tensor weights = at::zeros({1, 64, 64}, at::kDouble);
  for (int i = 0; i < 64; ++i) weights[0][i][i] = 1;
  weights[0][0][0] = 0;
  weights[0][0][63] = 1;
  EXPECT_NEAR(Distance(weights, {8, 8}, 0, 4) * 64, 39.597980, 1e-6);
}

// 1.072984 cells for a uniform 3x3 window away from borders, the reference line for a convolution.
TEST(AttentionDistance, OfAThreeByThreeWindow) {
  const at::Tensor weights = at::zeros({1, 25, 25}, at::kDouble);
  for (int i = 0; i < 25; ++i) weights[0][i][i] = 1;
  for (const int key : {6, 7, 8, 11, 12, 13, 16, 17, 18}) weights[0][12][key] = 1;
  EXPECT_NEAR(Distance(weights, {5, 5}, 0, 1) * 25, 1.072984, 1e-6);
}

// Rows and columns are told apart: one step down a 2x5 grid is five tokens away, but one cell.
TEST(AttentionDistance, CountsCellsNotTokens) {
  const at::Tensor weights = at::zeros({1, 10, 10}, at::kDouble);
  for (int i = 0; i < 10; ++i) weights[0][i][(i + 5) % 10] = 1;
  EXPECT_NEAR(Distance(weights, {2, 5}, 0, 3), 3, 1e-12);
}

// A signed map counts by magnitude.
TEST(AttentionDistance, OfASignedMapIsThatOfItsMagnitude) {
  const at::Tensor weights = at::zeros({1, 4, 4}, at::kDouble);
  for (int i = 0; i < 4; ++i) {
    weights[0][i][i] = 3;
    weights[0][i][i ^ 1] = -1;
  }
  EXPECT_NEAR(Distance(weights, {2, 2}, 0, 8), 2, 1e-12);
}

}  // namespace
}  // namespace vitrine
