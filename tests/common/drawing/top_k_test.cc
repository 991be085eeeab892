// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/top_k.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::Field;

std::vector<int> Indices(const std::vector<ScoredClass>& best) {
  std::vector<int> indices;
  for (const ScoredClass& entry : best) indices.push_back(entry.index);
  return indices;
}

// Returns the `k` best classes, computed with higher precision. A class's position is the number of classes with a
// larger logit, or with an equal logit and a smaller index.
std::vector<ScoredClass> Oracle(const std::vector<float>& logits, int k) {
  long double sum = 0;
  const long double largest = *std::max_element(logits.begin(), logits.end());
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<ScoredClass> best(static_cast<size_t>(k));
  for (size_t i = 0; i < logits.size(); ++i) {
    size_t before = 0;
    for (size_t j = 0; j < logits.size(); ++j) {
      before += logits[j] > logits[i] || (logits[j] == logits[i] && j < i) ? 1 : 0;
    }
    if (before < best.size()) {
      const auto probability = static_cast<float>(std::exp(logits[i] - largest) / sum);
      best[before] = {.index = static_cast<int>(i), .probability = probability, .logit = logits[i]};
    }
  }
  return best;
}

TEST(TopK, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for (const int classes : {1, 2, 10, 1000}) {
    for (const float spread : {0.01f, 1.0f, 50.0f}) {
      std::vector<float> logits(static_cast<size_t>(classes));
      std::normal_distribution<float> normal(0, spread);
      for (float& logit : logits) logit = std::round(normal(random) * 8) / 8;  // with ties
      for (const int k : {1, (classes + 1) / 2, classes}) {
        const auto best = TopK(logits, k), expected = Oracle(logits, k);
        ASSERT_EQ(Indices(best), Indices(expected)) << classes << " classes, spread " << spread << ", k " << k;
        for (size_t i = 0; i < best.size(); ++i) {
          EXPECT_EQ(best[i].logit, expected[i].logit);
          EXPECT_NEAR(best[i].probability, expected[i].probability, 1e-7 + 1e-6 * expected[i].probability);
        }
      }
    }
  }
}

TEST(TopK, OrdersEqualLogitsByIndex) {
  EXPECT_EQ(Indices(TopK(std::vector<float>{1, 3, 3, 0, 3}, 4)), (std::vector<int>{1, 2, 4, 0}));
  EXPECT_EQ(Indices(TopK(std::vector<float>{0.0f, -0.0f, 0.0f}, 3)), (std::vector<int>{0, 1, 2}));
}

TEST(TopK, ProbabilitiesSumToOneOverAllClasses) {
  EXPECT_THAT(TopK(std::vector<float>(4, 2.5f), 1), ElementsAre(Field(&ScoredClass::probability, 0.25f)));
}

TEST(TopK, HandlesTheLargestLogits) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto best = TopK(std::vector<float>{-kLargest, kLargest, 0}, 3);
  EXPECT_EQ(Indices(best), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(best[0].probability, 1);
  EXPECT_EQ(best[1].probability, 0);
  EXPECT_EQ(best[2].probability, 0);
  EXPECT_EQ(TopK(std::vector<float>{-1e30f, -1e30f}, 1)[0].probability, 0.5f);
}

TEST(TopK, ATemperatureChangesOnlyProbabilities) {
  const std::vector<float> logits = {2, -1, 0.5F};
  const auto cold = TopK(logits, 3), warm = TopK(logits, 3, 2), halved = TopK(std::vector<float>{1, -0.5F, 0.25F}, 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(warm[i].index, cold[i].index);
    EXPECT_EQ(warm[i].logit, cold[i].logit);
    EXPECT_FLOAT_EQ(warm[i].probability, halved[i].probability);
  }
  EXPECT_LT(warm[0].probability, cold[0].probability);
}

}  // namespace
}  // namespace vitrine
