// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "server/observe/model_metrics.h"

namespace vitrine {
namespace {

TEST(Sureness, IsLowestForUniformLogits) {
  const std::vector<float> logits(10, -3.5F);
  EXPECT_NEAR(SurenessOf(logits).confidence, 0.1, 1e-6);
  EXPECT_NEAR(SurenessOf(logits).entropy, 1, 1e-6);
}

TEST(Sureness, AgreesWithTheDefinition) {
  const std::vector<float> logits = {1.5F, -2, 0.25F, 3, 2.75F};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  double entropy = 0;
  for (const float logit : logits) entropy -= std::exp(logit) / sum * std::log(std::exp(logit) / sum);
  EXPECT_NEAR(SurenessOf(logits).confidence, std::exp(3.0) / sum, 1e-6);
  EXPECT_NEAR(SurenessOf(logits).entropy, entropy / std::log(5.0), 1e-6);
}

TEST(Sureness, HandlesLogitsBeyondTheExponentialsRange) {
  const std::vector<float> logits = {1e30F, -1e30F, 0};
  EXPECT_EQ(SurenessOf(logits).confidence, 1);
  EXPECT_EQ(SurenessOf(logits).entropy, 0);
  EXPECT_EQ(SurenessOf(std::vector<float>{-7}).confidence, 1) << "one class";
  EXPECT_EQ(SurenessOf(std::vector<float>{-7}).entropy, 0);
}

TEST(Sureness, DividesTheLogitsByTheTemperature) {
  const std::vector<float> logits = {3, 1, -2}, halved = {1.5F, 0.5F, -1};
  EXPECT_NEAR(SurenessOf(logits, 2).confidence, SurenessOf(halved).confidence, 1e-6);
  EXPECT_NEAR(SurenessOf(logits, 2).entropy, SurenessOf(halved).entropy, 1e-6);
}

}  // namespace
}  // namespace vitrine
