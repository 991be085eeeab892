// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/cost_model.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(LinearFit, FindsTheLineThroughThePoints) {
  LinearFit fit;
  EXPECT_EQ(fit.At(5), 0);
  for (const double x : {10.0, 40.0, 20.0, 80.0, 10.0, 60.0}) fit.Observe(x, 3 + 2 * x);
  EXPECT_NEAR(fit.At(0), 3, 1e-9);
  EXPECT_NEAR(fit.At(100), 203, 1e-9);
}

TEST(LinearFit, OnePointGivesALineThroughTheOrigin) {
  LinearFit fit;
  fit.Observe(10, 30);
  EXPECT_NEAR(fit.At(5), 15, 1e-9);
  EXPECT_NEAR(fit.At(20), 60, 1e-9);
  for (int i = 0; i < 50; ++i) fit.Observe(i % 2 == 0 ? 10 : 10.5, i % 2 == 0 ? 30 : 20);
  EXPECT_GT(fit.At(20), fit.At(10)) << "points that are so close do not determine the slope";
}

TEST(LinearFit, InterceptAndSlopeAreNotNegative) {
  LinearFit falling;
  for (const double x : {10.0, 20.0, 10.0, 20.0}) falling.Observe(x, 40 - x);
  EXPECT_NEAR(falling.At(0), falling.At(100), 1e-9) << "a larger size must not have a lower cost";
  LinearFit steep;
  for (const double x : {10.0, 20.0, 10.0, 20.0}) steep.Observe(x, 3 * x - 20);
  EXPECT_NEAR(steep.At(0), 0, 1e-9);
}

TEST(LinearFit, OldPointsLoseTheirWeight) {
  LinearFit fit;
  for (int i = 0; i < 100; ++i) fit.Observe(10 + i % 5 * 10, 1);
  for (int i = 0; i < 100; ++i) fit.Observe(10 + i % 5 * 10, 10 + i % 5 * 10);
  EXPECT_NEAR(fit.At(100), 100, 1);
}

// Observes batches that cost 4 ms plus 10 us per token.
TEST(ModelCost, ABatchHasAFixedCost) {
  ModelCost cost;
  EXPECT_EQ(cost.PredictBatch(100), absl::ZeroDuration());
  for (const int tokens : {100, 400, 200, 800}) {
    cost.ObserveCompute(tokens, absl::Milliseconds(4) + tokens * absl::Microseconds(10));
  }
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.PredictBatch(0)), 4, 1e-6);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.PredictBatch(1600)), 20, 1e-6);
  cost.ObserveDecode(1000, absl::Milliseconds(1));
  cost.ObserveEncode(0, absl::Milliseconds(3));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.PredictBesideCompute(2000)), 2 + 3, 1e-6);
}

}  // namespace
}  // namespace vitrine
