// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::engine {
namespace {

using ::testing::ElementsAre;

TEST(Fold, FoldBeforeScalesInputColumns) {
  LinearWeights weights{.weight = {1, 2, 3, 4}, .bias = {10, 20}};
  weights.FoldBefore(std::vector<float>{2, 3}, std::vector<float>{5, 7});
  EXPECT_THAT(weights.weight, ElementsAre(2, 6, 6, 12));
  EXPECT_THAT(weights.bias, ElementsAre(10 + 5 + 14, 20 + 15 + 28));
}

TEST(Fold, FoldAfterScalesOutputRows) {
  LinearWeights weights{.weight = {1, 2, 3, 4}, .bias = {10, 20}};
  weights.FoldAfter(std::vector<float>{2, 3}, std::vector<float>{5, 7});
  EXPECT_THAT(weights.weight, ElementsAre(2, 4, 9, 12));
  EXPECT_THAT(weights.bias, ElementsAre(25, 67));
}

TEST(Fold, BatchNormBecomesScaleAndShift) {
  const ColumnAffine affine = AffineOfBatchNorm(std::vector<float>{6}, std::vector<float>{1}, std::vector<float>{5},
                                                std::vector<float>{8}, /*epsilon=*/1);
  EXPECT_THAT(affine.scale, ElementsAre(2));   // 6 / sqrt(8 + 1)
  EXPECT_THAT(affine.shift, ElementsAre(-9));  // 1 - 5 * 2
}

}  // namespace
}  // namespace vitrine::engine
