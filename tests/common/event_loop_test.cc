// SPDX-License-Identifier: Apache-2.0
#include "common/http/event_loop.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

EventLoop::Time fake_now = EventLoop::Time(std::chrono::hours(1));

EventLoop::Time FakeNow() {
  return fake_now;
}

TEST(EventLoop, ItsTimeDoesNotIncludePauses) {
  const auto loop = EventLoop::Make(FakeNow);
  ASSERT_TRUE(loop.ok()) << loop.status();
  EventLoop& events = **loop;
  EventLoop::Time before, after, shared, later;
  events.Post([&] {
    before = events.now();
    fake_now += seconds(42);
    events.Post([&] {
      after = events.now();
      shared = events.shared_now();
      fake_now += seconds(1);  // not longer than kLongestRound, so this second does not count as a pause
      events.Post([&] {
        later = events.now();
        events.Stop();
      });
    });
  });
  events.Run(milliseconds(10), [] {});
  EXPECT_EQ(after - before, milliseconds(10));
  EXPECT_EQ(shared - before, seconds(42));
  EXPECT_EQ(later - after, seconds(1));
}

TEST(EventLoop, TicksAfterAPause) {
  const auto loop = EventLoop::Make(FakeNow);
  ASSERT_TRUE(loop.ok()) << loop.status();
  int ticks = 0;
  (*loop)->Post([] { fake_now += seconds(42); });
  (*loop)->Run(milliseconds(10), [&] {
    fake_now += seconds(42);
    if (++ticks == 3) (*loop)->Stop();
  });
  EXPECT_EQ(ticks, 3);
}

}  // namespace
}  // namespace vitrine
