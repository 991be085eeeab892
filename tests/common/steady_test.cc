// SPDX-License-Identifier: Apache-2.0
#include "common/steady.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace vitrine {
namespace {

// Runs UntilSteady with rounds that return these sums in order. Each further round returns the last sum.
Rounds Of(const std::vector<double>& sums, int most = 12) {
  size_t next = 0;
  return UntilSteady([&] { return sums[std::min(next++, sums.size() - 1)]; }, most);
}

TEST(UntilSteady, NeedsThreeRoundsOnAQuietMachine) {
  const Rounds rounds = Of({1.0, 0.99, 0.985});
  EXPECT_EQ(rounds.done, 3);
  EXPECT_TRUE(rounds.steady);
}

TEST(UntilSteady, ContinuesWhileTimesDecrease) {
  const Rounds rounds = Of({2.0, 1.5, 1.49, 1.2, 1.0, 1.0, 1.0});
  EXPECT_EQ(rounds.done, 7) << "one round without a better time must not be enough";
  EXPECT_TRUE(rounds.steady);
}

TEST(UntilSteady, StopsAtItsLimitOfRounds) {
  const Rounds rounds = Of({64, 32, 16, 8, 4, 2, 1}, 5);
  EXPECT_EQ(rounds.done, 5);
  EXPECT_FALSE(rounds.steady);
}

}  // namespace
}  // namespace vitrine
