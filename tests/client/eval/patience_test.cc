// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/patience.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(Patience, CountsFromTheFirstSilenceToTheNextAnswer) {
  Patience patience(absl::Seconds(60));
  EXPECT_EQ(patience.Left(kStart), absl::InfiniteDuration());
  patience.Silent(kStart);
  patience.Silent(kStart + absl::Seconds(50));
  EXPECT_EQ(patience.Left(kStart + absl::Seconds(50)), absl::Seconds(10))
      << "the time must count from the first silence";
  EXPECT_LT(patience.Left(kStart + absl::Seconds(61)), absl::ZeroDuration());
  patience.Answered();
  EXPECT_EQ(patience.Left(kStart + absl::Seconds(61)), absl::InfiniteDuration());
  patience.Silent(kStart + absl::Seconds(70));
  EXPECT_EQ(patience.Left(kStart + absl::Seconds(70)), absl::Seconds(60));
}

TEST(Patience, DoublesTheWaitUntilAnImageHasAResult) {
  Patience patience(absl::Seconds(60));
  EXPECT_FALSE(patience.waited());
  for (const double whole : {0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0}) {
    const double wait = absl::ToDoubleSeconds(patience.NextWait());
    EXPECT_GE(wait, whole / 2 - 1e-9);
    EXPECT_LE(wait, whole);
  }
  patience.Answered();
  EXPECT_TRUE(patience.waited());
  EXPECT_GE(patience.NextWait(), absl::Seconds(2.5)) << "an answer without a result must not shorten the wait";
  patience.Progressed();
  EXPECT_FALSE(patience.waited());
  EXPECT_LE(patience.NextWait(), absl::Seconds(0.2));
}

}  // namespace
}  // namespace vitrine
