// SPDX-License-Identifier: Apache-2.0
#include "server/process/ticker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace vitrine {
namespace {

TEST(Ticker, CallsPeriodicallyUntilItIsDestroyed) {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(absl::Milliseconds(1), [&] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int at_the_end = calls;
  std::this_thread::yield();
  EXPECT_EQ(calls, at_the_end);
}

TEST(Ticker, CallsOnceWithAnInfinitePeriod) {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(absl::InfiniteDuration(), [&] { ++calls; });
    while (calls < 1) std::this_thread::yield();
    // Leaves time for a wrong second call. On a slow machine, the test may miss such a call, but it never fails if
    // there is no second call.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(calls, 1);
}

TEST(Ticker, CallsEarlierIfTold) {
  std::atomic<int> calls = 0;
  Ticker ticker(absl::InfiniteDuration(), [&] { ++calls; });
  for (int expected = 1; expected < 4; ++expected) {
    while (calls < expected) std::this_thread::yield();
    ticker.TickIn(absl::Milliseconds(1));
  }
  while (calls < 4) std::this_thread::yield();
}

}  // namespace
}  // namespace vitrine
