// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/pacer.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "client/load/load_record.h"
#include "tests/client/load/made_times.h"

namespace vitrine {
namespace {

// A simulated clock whose time passes only during sleep or work.
class FakeClock : public LoadClock {
 public:
  int64_t Now() const override { return now_; }
  void SleepUntil(int64_t time) const override {
    if (time > now_) now_ = time + oversleep;
  }
  void Work(int64_t nanoseconds) { now_ += nanoseconds; }
  int64_t oversleep = 0;

 private:
  mutable int64_t now_ = 0;
};

struct Paced {
  std::vector<int64_t> due, started;
  LoadRecord record{{0, 1000 * kMs}, 1};
};

// Runs the pacer at a constant rate of 1000/s for one second. `work` returns the time that it takes to start a request.
Paced PaceOneSecond(FakeClock& clock, const std::function<int64_t(size_t number)>& work) {
  Paced run;
  const auto arrivals = ArrivalsAtRate(ArrivalProcess::kConstant, 1000, 1);
  Pace(
      *arrivals, 1000 * kMs, clock, [] { return false; },
      [&](const Arrival& arrival, int64_t now) {
        run.due.push_back(arrival.due);
        run.started.push_back(now);
        run.record.Started(0, arrival.due, now);
        clock.Work(work(run.due.size() - 1));
      });
  return run;
}

TEST(Pace, StartsEveryRequestWhenItIsDue) {
  FakeClock clock;
  const Paced run = PaceOneSecond(clock, [](size_t) { return 0; });
  ASSERT_EQ(run.due.size(), 1000u);
  EXPECT_EQ(run.started, run.due);
  EXPECT_EQ(run.record.slip().max(), 0);
}

TEST(Pace, AfterAStallEveryLateRequestIsStartedAndCounted) {
  FakeClock clock;
  // Starting the 101st request takes 50 ms. The 49 requests that become due in this time are late by 49, 48, ... 1 ms.
  const Paced run = PaceOneSecond(clock, [](size_t number) { return number == 100 ? 50 * kMs : 0; });
  ASSERT_EQ(run.due.size(), 1000u);
  for (size_t i = 0; i < 1000; ++i) {
    const int64_t late = i > 100 && i < 150 ? static_cast<int64_t>(150 - i) * kMs : 0;
    EXPECT_EQ(run.started[i] - run.due[i], late) << i;
  }
  EXPECT_EQ(run.record.slip().max(), 49 * kMs);
  EXPECT_NEAR(static_cast<double>(run.record.slip().Quantile(0.99)), 39.0 * kMs, 0.05 * kMs);
}

TEST(Pace, ATooSlowGeneratorReportsItsSlip) {
  FakeClock clock;
  const Paced run = PaceOneSecond(clock, [](size_t) { return 2 * kMs; });
  ASSERT_EQ(run.due.size(), 1000u);  // no request is left out
  EXPECT_EQ(run.started.back() - run.due.back(), 999 * kMs);
  EXPECT_GT(run.record.slip().Quantile(0.99), 980 * kMs);
}

TEST(Pace, SleepingTooLongCountsAsSlip) {
  FakeClock clock;
  clock.oversleep = kMs / 4;
  const Paced run = PaceOneSecond(clock, [](size_t) { return 0; });
  EXPECT_EQ(run.record.slip().Quantile(0.5), kMs / 4);
}

TEST(Pace, EndsWhenItIsStopped) {
  FakeClock clock;
  const auto arrivals = ArrivalsAtRate(ArrivalProcess::kConstant, 1, 1);
  int started = 0;
  Pace(
      *arrivals, 1'000'000 * kMs, clock, [&] { return clock.Now() >= 2500 * kMs; },
      [&](const Arrival&, int64_t) { ++started; });
  EXPECT_EQ(started, 3);
  EXPECT_LE(clock.Now(), 2550 * kMs);  // the stop is detected before the next request is due
}

TEST(SteadyLoadClock, SleepsAtLeastUntilTheTime) {
  const SteadyLoadClock clock;
  const int64_t wake = clock.Now() + 2 * kMs;
  clock.SleepUntil(wake);
  EXPECT_GE(clock.Now(), wake);
  clock.SleepUntil(wake - kMs);  // this time has already passed
}

}  // namespace
}  // namespace vitrine
