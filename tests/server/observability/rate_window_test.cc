// SPDX-License-Identifier: Apache-2.0
#include "server/pages/rate_window.h"

#include <gtest/gtest.h>

#include "server/process/clock.h"

namespace vitrine {
namespace {

TEST(RateWindow, IsTheRiseOverTheLastMinute) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  EXPECT_EQ(window.PerSecond("a"), 0);
  double total = 0;
  // Ten a second for two minutes, then nothing.
  for (int second = 0; second <= 120; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    total += 20;
    clock.Advance(absl::Seconds(2));
  }
  total -= 20;
  EXPECT_NEAR(window.PerSecond("a"), 10, 1e-9);
  for (int second = 0; second < 30; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Seconds(2));
  }
  EXPECT_NEAR(window.PerSecond("a"), 5, 0.4) << "half of the minute was silent";
  for (int second = 0; second < 60; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Seconds(2));
  }
  EXPECT_EQ(window.PerSecond("a"), 0);
}

TEST(RateWindow, BeginsWithTheFirstSample) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  window.Sample(clock.Now(), {{"a", 100}});
  EXPECT_EQ(window.PerSecond("a"), 0) << "one sample is no rate";
  clock.Advance(absl::Seconds(4));
  window.Sample(clock.Now(), {{"a", 108}});
  EXPECT_DOUBLE_EQ(window.PerSecond("a"), 2) << "not over a minute that has not passed";
}

TEST(RateWindow, ThreeSamplesAreEnoughToLetTheFirstGo) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  for (const double total : {0.0, 60.0, 60.0}) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Minutes(1));
  }
  EXPECT_EQ(window.PerSecond("a"), 0) << "what rose before the last minute";
}

TEST(RateWindow, CountersComeGoAndBeginAnew) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  window.Sample(clock.Now(), {{"gone", 5}, {"anew", 1000}});
  clock.Advance(absl::Seconds(10));
  window.Sample(clock.Now(), {{"new", 30}, {"anew", 10}});
  EXPECT_DOUBLE_EQ(window.PerSecond("new"), 3);
  EXPECT_EQ(window.PerSecond("gone"), 0);
  EXPECT_DOUBLE_EQ(window.PerSecond("anew"), 1) << "ten since it began at 0 again";
  clock.Advance(absl::Seconds(10));
  window.Sample(clock.Now(), {{"new", 30}, {"anew", 50}});
  EXPECT_DOUBLE_EQ(window.PerSecond("anew"), 2.5) << "what came before the reload is no reason for a window of zeros";
  EXPECT_EQ(window.PerSecond("never"), 0);
}

}  // namespace
}  // namespace vitrine
