// SPDX-License-Identifier: Apache-2.0
#include "common/steady.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace vitrine {
namespace {

// Runs UntilSteady on these sums. The last sum is repeated.
Rounds Of(const std::vector<double>& sums, int most = 12) {
  size_t next = 0;
  return UntilSteady([&] { return sums[std::min(next++, sums.size() - 1)]; }, most);
}

TEST(UntilSteady, TakesThreeRoundsOfAQuietMachine) {
  const Rounds rounds = Of({1.0, 0.99, 0.985});
  EXPECT_EQ(rounds.done, 3);
  EXPECT_TRUE(rounds.steady);
}

TEST(UntilSteady, GoesOnAsLongAsTimesFall) {
  const Rounds rounds = Of({2.0, 1.5, 1.49, 1.2, 1.0, 1.0, 1.0});
  EXPECT_EQ(rounds.done, 7) << "one round without a better time is not enough";
  EXPECT_TRUE(rounds.steady);
}

TEST(UntilSteady, SaysWhereItGaveUp) {
  const Rounds rounds = Of({64, 32, 16, 8, 4, 2, 1}, 5);
  EXPECT_EQ(rounds.done, 5);
  EXPECT_FALSE(rounds.steady);
}

}  // namespace
}  // namespace vitrine
