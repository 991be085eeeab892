// SPDX-License-Identifier: Apache-2.0
#include "trainer/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace vitrine {
namespace {

TEST(CounterRandom, DependsOnlyOnItsKeys) {
  CounterRandom a(1, 2, 3), same(1, 2, 3), other_seed(2, 2, 3), other_epoch(1, 3, 3), other_sample(1, 2, 4);
  std::set<uint64_t> first = {other_seed.Next(), other_epoch.Next(), other_sample.Next()};
  const uint64_t value = a.Next();
  EXPECT_EQ(value, same.Next());
  EXPECT_EQ(a.Next(), same.Next());
  first.insert(value);
  EXPECT_EQ(first.size(), 4u) << "two keys gave the same number";
}

TEST(CounterRandom, IsUniformAcrossAndWithinSamples) {
  double over_samples = 0, within = 0, squares = 0;
  CounterRandom one(5, 0, 0);
  for (int i = 0; i < 100000; ++i) {
    CounterRandom each(5, 1, i);
    const double value = each.Uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    over_samples += value;
    squares += value * value;
    within += one.Uniform();
  }
  // The mean of 100,000 numbers has a deviation of 0.0009.
  EXPECT_NEAR(over_samples / 1e5, 0.5, 0.005);
  EXPECT_NEAR(within / 1e5, 0.5, 0.005);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.005);
}

TEST(CounterRandom, BelowReturnsEveryValueInItsRange) {
  CounterRandom random(1, 0, 0);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts.at(random.Below(7));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(EpochOrder, IsAPermutationThatChangesWithEpochAndSeed) {
  const std::vector<int64_t> order = EpochOrder(1, 0, 1000);
  EXPECT_EQ(order, EpochOrder(1, 0, 1000));
  EXPECT_NE(order, EpochOrder(1, 1, 1000));
  EXPECT_NE(order, EpochOrder(2, 0, 1000));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i);
  int64_t in_place = 0;
  for (int64_t i = 0; i < 1000; ++i) in_place += order[i] == i;
  EXPECT_LT(in_place, 10) << "a random permutation keeps one element in place on average";
}

}  // namespace
}  // namespace vitrine
