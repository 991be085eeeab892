// SPDX-License-Identifier: Apache-2.0
#include "models/attention_distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vitrine {
namespace {

// Attention weights of one head between n tokens.
struct Weights {
  explicit Weights(int n, float value = 0) : n(n), values(static_cast<size_t>(n) * static_cast<size_t>(n), value) {}
  static Weights Identity(int n, float value = 1) {
    Weights weights(n);
    for (int i = 0; i < n; ++i) weights.at(i, i) = value;
    return weights;
  }
  float& at(int query, int key) {
    return values[static_cast<size_t>(query) * static_cast<size_t>(n) + static_cast<size_t>(key)];
  }

  int n;
  std::vector<float> values;
};

double Distance(const Weights& weights, Grid grid, int prefix, int cell, bool keep_class_mass = false) {
  return AttentionDistance(weights.values, grid, prefix, cell, keep_class_mass);
}

// With uniform attention, the distance is the mean distance of all pairs of cells, in pixels.
TEST(AttentionDistance, EqualsTheGridsMeanForUniformAttention) {
  const struct {
    int side, cell;
    double pixels;
  } kCases[] = {{8, 4, 16.545931}, {10, 3, 15.560617}, {16, 2, 16.652150}, {14, 16, 116.492227}};
  for (const auto& [side, cell, pixels] : kCases) {
    const int n = side * side;
    const Weights uniform(n + 1, 1.0F / static_cast<float>(n + 1));
    EXPECT_NEAR(Distance(uniform, {side, side}, 1, cell), pixels, 1e-6) << side;
    EXPECT_NEAR(Distance(uniform, {side, side}, 1, cell, true), pixels * n / (n + 1), 1e-6) << side;
  }
}

TEST(AttentionDistance, IsZeroForIdentityAttention) {
  EXPECT_EQ(Distance(Weights::Identity(17), {4, 4}, 1, 4), 0);
}

// Every patch attends to its right neighbour, and patches at the right edge to themselves. For patches of p pixels in g
// columns, the mean distance is p (g - 1) / g.
TEST(AttentionDistance, IsOneCellForTheRightNeighbour) {
  constexpr int kSide = 8;
  Weights weights(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) weights.at(i, i % kSide == kSide - 1 ? i : i + 1) = 1;
  EXPECT_NEAR(Distance(weights, {kSide, kSide}, 0, 4), 4.0 * 7 / 8, 1e-12);
}

// Opposite corners have the largest possible distance.
TEST(AttentionDistance, IsLargestBetweenCorners) {
  Weights weights = Weights::Identity(64);
  weights.at(0, 0) = 0;
  weights.at(0, 63) = 1;
  EXPECT_NEAR(Distance(weights, {8, 8}, 0, 4) * 64, 39.597980, 1e-6);
}

// Expects the mean attention distance for an inner query with equal weights on the 3x3 cells around it: 1.072984 cells.
TEST(AttentionDistance, IsCorrectForAThreeByThreeWindow) {
  Weights weights = Weights::Identity(25);
  for (const int key : {6, 7, 8, 11, 12, 13, 16, 17, 18}) weights.at(12, key) = 1;
  EXPECT_NEAR(Distance(weights, {5, 5}, 0, 1) * 25, 1.072984, 1e-6);
}

// Counts cells, not tokens: one step down a 2x5 grid is five tokens away, but one cell.
TEST(AttentionDistance, CountsCellsNotTokens) {
  Weights weights(10);
  for (int i = 0; i < 10; ++i) weights.at(i, (i + 5) % 10) = 1;
  EXPECT_NEAR(Distance(weights, {2, 5}, 0, 3), 3, 1e-12);
}

// A softmax may give all weight to the class token. A map without softmax may be all zero.
TEST(AttentionDistance, SkipsQueriesWithoutWeightOnCells) {
  Weights weights = Weights::Identity(5);
  EXPECT_EQ(Distance(weights, {2, 2}, 1, 4), 0);
  weights.at(1, 1) = 0;
  weights.at(1, 0) = 1;  // all weight on the class token
  weights.at(2, 2) = 0;
  weights.at(2, 1) = 1;
  EXPECT_NEAR(Distance(weights, {2, 2}, 1, 9), 3, 1e-12) << "one step of nine pixels, by one query of three";
  EXPECT_NEAR(Distance(weights, {2, 2}, 1, 8, true), 2, 1e-12) << "the sink is at 0 pixels";
}

// A head whose queries attend to no cell has no distance. It differs from a head whose queries attend to their own
// cell.
TEST(AttentionDistance, IsNanIfAllQueriesAreSkipped) {
  EXPECT_TRUE(std::isnan(Distance(Weights(5), {2, 2}, 1, 4)));
  EXPECT_TRUE(std::isnan(Distance(Weights(5), {2, 2}, 1, 4, true)));
  Weights sink(5);
  for (int query = 1; query < 5; ++query) sink.at(query, 0) = 1;
  EXPECT_TRUE(std::isnan(Distance(sink, {2, 2}, 1, 4)));
  EXPECT_EQ(Distance(sink, {2, 2}, 1, 4, true), 0);
}

// For scores far below the largest score, kernels return the weight e^-87 instead of 0. These weights must not count.
TEST(AttentionDistance, IgnoresTinyWeightsOfKernels) {
  Weights weights(17, 1.6e-38F);
  for (int query = 1; query < 17; ++query) weights.at(query, 0) = 1;
  EXPECT_TRUE(std::isnan(Distance(weights, {4, 4}, 1, 16))) << "not the distance of uniform attention";
  EXPECT_NEAR(Distance(weights, {4, 4}, 1, 16, true), 0, 1e-30);
  weights.at(1, 0) = 0;
  weights.at(1, 2) = 1;
  EXPECT_NEAR(Distance(weights, {4, 4}, 1, 16), 16, 1e-6);
}

// Signed values count by magnitude.
TEST(AttentionDistance, UsesMagnitudesOfSignedMaps) {
  Weights weights = Weights::Identity(4, 3);
  for (int i = 0; i < 4; ++i) weights.at(i, i ^ 1) = -1;
  EXPECT_NEAR(Distance(weights, {2, 2}, 0, 8), 2, 1e-12);
}

}  // namespace
}  // namespace vitrine
