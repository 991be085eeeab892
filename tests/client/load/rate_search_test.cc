// SPDX-License-Identifier: Apache-2.0
#include "client/load/rate_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "client/load/stability.h"
#include "tests/client/load/made_times.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int64_t kSecond = 1000 * kMs;

// Runs the search on a simulated server that meets the goal up to the rate `capacity`. Returns the number of tried
// rates.
int Steps(RateSearch& search, double capacity) {
  int steps = 0;
  while (const std::optional<double> rate = search.Next()) {
    search.Record(*rate, *rate <= capacity);
    if (++steps > 100) break;
  }
  return steps;
}

TEST(RateSearch, FindsTheCapacityWithinItsTolerance) {
  for (const double capacity : {10.0, 11.0, 173.0, 5000.0, 9e5}) {
    RateSearch search(10, 1e6, 0.05);
    EXPECT_LE(Steps(search, capacity), 24);
    ASSERT_TRUE(search.best().has_value());
    EXPECT_LE(*search.best(), capacity);
    EXPECT_GE(*search.best() * 1.05, capacity);
  }
}

TEST(RateSearch, StaysWithinItsBounds) {
  RateSearch low(100, 1000, 0.05);
  EXPECT_EQ(Steps(low, 50), 1);
  EXPECT_FALSE(low.best().has_value());
  RateSearch high(100, 1000, 0.05);
  Steps(high, 1e9);
  EXPECT_EQ(high.best(), 1000);
  RateSearch one(100, 100, 0.05);
  EXPECT_EQ(Steps(one, 1e9), 1);
  EXPECT_EQ(one.best(), 100);
}

TEST(ParseSweepRange, AcceptsThreeForms) {
  EXPECT_THAT(ParseSweepRange("100:400:100")->Rates(), ElementsAre(100, 200, 300, 400));
  EXPECT_THAT(ParseSweepRange("100:350:100")->Rates(), ElementsAre(100, 200, 300, 350));
  EXPECT_THAT(ParseSweepRange("100:1000:x2")->Rates(), ElementsAre(100, 200, 400, 800, 1000));
  EXPECT_THAT(ParseSweepRange("1:128")->Rates(), Pointwise(testing::DoubleNear(1e-6), {1, 2, 4, 8, 16, 32, 64, 128}));
  EXPECT_THAT(ParseSweepRange("7:7")->Rates(), ElementsAre(7));
  EXPECT_THAT(ParseSweepRange("7:7:2")->Rates(), ElementsAre(7));
  EXPECT_EQ(ParseSweepRange("1:1001:1")->Rates().size(), 1001u) << "a range may have a thousand steps and then its end";
  EXPECT_EQ(ParseSweepRange("9e6:1e7:1e6")->Rates().back(), 1e7);
  for (const char* wrong : {"", "5", "5:", "0:5", "6:5", "1:2:3:4", "1:2:x1", "1:2:x", "1:2:0", "1:2:-1", "a:b",
                            "1:1000000:0.1", "nan:5", "1:inf", "1:1002:1", "1:10000001", "2:1"}) {
    EXPECT_FALSE(ParseSweepRange(wrong).ok()) << wrong;
  }
}

TEST(ParseLatencyBounds, AcceptsListsAndRefusesInvalidText) {
  const auto bounds = ParseLatencyBounds("p50=10ms,p99.9=0.1s");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  ASSERT_EQ(bounds->size(), 2u);
  EXPECT_DOUBLE_EQ((*bounds)[1].quantile, 0.999);
  EXPECT_EQ((*bounds)[1].most, absl::Milliseconds(100));
  EXPECT_EQ((*ParseLatencyBounds("p100=1ns"))[0].quantile, 1);
  for (const char* wrong : {"", "p99", "99=5ms", "p0=5ms", "p100.1=5ms", "pnan=5ms", "p99=5", "p99=0ms", "p99=5ms,"}) {
    EXPECT_FALSE(ParseLatencyBounds(wrong).ok()) << wrong;
  }
}

// Returns a load with a constant rate in an interval of `seconds`. `answered` is the number of answers in each second,
// and `latency` is their latency.
LoadRecord EvenLoad(int seconds, int rate, const std::function<int64_t(int second)>& latency,
                    const std::function<int(int second)>& answered) {
  LoadRecord record({0, seconds * kSecond}, 1);
  for (int second = 0; second < seconds; ++second) {
    for (int i = 0; i < rate; ++i) {
      const int64_t due = second * kSecond + i * kSecond / rate / 2;
      record.Started(0, due, due);
      if (i < answered(second)) record.Answered(0, due, due + latency(second), 100 * kMs);
    }
  }
  return record;
}

TEST(MissedGoal, ComparesPercentilesAndTheShareInTime) {
  const LoadRecord fine = EvenLoad(
      5, 100, [](int) { return 20 * kMs; }, [](int) { return 100; });
  Goal goal;
  EXPECT_EQ(MissedGoal(fine, {}, goal), "");
  goal.bounds = {{0.5, absl::Milliseconds(25)}, {0.99, absl::Milliseconds(19)}};
  EXPECT_THAT(MissedGoal(fine, {}, goal), HasSubstr("p99 is 20.0 ms"));
  goal.bounds.pop_back();
  EXPECT_EQ(MissedGoal(fine, {}, goal), "");
  const LoadRecord refusing = EvenLoad(
      5, 100, [](int) { return 20 * kMs; }, [](int) { return 98; });
  EXPECT_THAT(MissedGoal(refusing, {}, goal), HasSubstr("98.0 %"));
  EXPECT_NE(MissedGoal(LoadRecord({0, kSecond}, 1), {}, goal), "");
}

TEST(MissedGoal, ValuesExactlyAtTheGoalMeetIt) {
  LoadRecord record({0, 10 * kSecond}, 1);
  for (int i = 0; i < 100; ++i) {
    record.Started(0, i * 10 * kMs, i * 10 * kMs);
    record.Answered(0, i * 10 * kMs, i * 10 * kMs + 20 * kMs, i == 0 ? kMs : kSecond);
  }
  EXPECT_EQ(MissedGoal(record, {}, {.bounds = {{0.99, absl::Milliseconds(20)}}, .least_good = 0.99}), "");
  EXPECT_EQ(MissedGoal(record, {}, {.bounds = {}, .least_good = 0.991}), "99.0 % were answered within their deadline");
  EXPECT_EQ(MissedGoal(record, {}, {.bounds = {{0.5, absl::Seconds(1)}, {0.9, absl::Milliseconds(19.9)}}}),
            "p90 is 20.0 ms");
}

// Returns OverloadText for a thousand requests in ten seconds. `answered` requests are answered after `latency`.
std::string Behind(int answered, int64_t latency) {
  LoadRecord record({0, 10 * kSecond}, 1);
  for (int64_t i = 0; i < 1000; ++i) {
    record.Started(0, i * 9 * kMs, i * 9 * kMs);
    if (i < answered) record.Answered(0, i * 9 * kMs, i * 9 * kMs + latency, kSecond);
  }
  return OverloadText(record, {});
}

// 99 % of the requests must be answered. The tolerance for requests in flight is one plus three times the square root
// of their mean number.
TEST(OverloadText, ToleratesRequestsInFlight) {
  EXPECT_EQ(Behind(990, 1), "");
  EXPECT_EQ(Behind(988, 1), "only 98.8/s were answered: the queue grows");
  EXPECT_EQ(Behind(984, 40 * kMs), "");
  EXPECT_EQ(Behind(982, 40 * kMs), "only 98.2/s were answered: the queue grows");
  Stability growing{.verdict = Stability::Verdict::kNotStable, .reason = "p50 rises", .growing = true};
  EXPECT_EQ(OverloadText(LoadRecord({0, kSecond}, 1), growing), "the queue grows: p50 rises");
}

TEST(MissedGoal, CoversAllDueRequestsAndNotOnlyTheAnswered) {
  // 100 of 105 requests are answered after 20 ms, so p95 of all requests is known, but p96 is not.
  const LoadRecord record = EvenLoad(
      5, 105, [](int) { return 20 * kMs; }, [](int) { return 100; });
  Goal goal;
  goal.least_good = 0.5;
  goal.bounds = {{0.95, absl::Milliseconds(25)}};
  EXPECT_EQ(MissedGoal(record, {}, goal), "");
  goal.bounds = {{0.96, absl::Milliseconds(25)}};
  EXPECT_THAT(MissedGoal(record, {}, goal), HasSubstr("no answer"));
  LoadRecord silent({0, kSecond}, 1);
  silent.NotSent(0, kMs);
  EXPECT_EQ(MissedGoal(silent, {}, {{}, 0}), "no request was answered");
}

// A server that can answer 100 requests per second receives 200 requests per second. The run is too short for any
// request to reach its deadline.
TEST(MissedGoal, AGrowingQueueMissesEveryGoal) {
  LoadRecord record({0, 10 * kSecond}, 1);
  for (int64_t i = 0; i < 2000; ++i) {
    const int64_t due = i * kSecond / 200;
    record.Started(0, due, due);
    record.Answered(0, due, i * kSecond / 100 + 5 * kMs, 30 * kSecond);
  }
  EXPECT_EQ(record.good(), record.due());
  EXPECT_THAT(MissedGoal(record, {}, Goal()), HasSubstr("only 100.0/s were answered"));
  const Stability stability = JudgeStability(record, 0.15);
  EXPECT_TRUE(stability.growing);
  Stability growing;
  growing.growing = true;
  const LoadRecord fine = EvenLoad(
      5, 100, [](int) { return 20 * kMs; }, [](int) { return 100; });
  EXPECT_THAT(MissedGoal(fine, growing, Goal()), HasSubstr("the queue grows"));
  EXPECT_FALSE(JudgeStability(fine, 0.15).growing);
}

Stability::Verdict Judge(
    const std::function<int64_t(int second)>& latency,
    const std::function<int(int second)>& answered = [](int) { return 300; }) {
  return JudgeStability(EvenLoad(10, 300, latency, answered), 0.15).verdict;
}

TEST(JudgeStability, DistinguishesSteadyLoadFromDriftAndBursts) {
  using Verdict = Stability::Verdict;
  EXPECT_EQ(Judge([](int) { return 20 * kMs; }), Verdict::kStable);
  EXPECT_EQ(Judge([](int second) { return (20 + second % 2) * kMs; }), Verdict::kStable);
  EXPECT_EQ(Judge([](int second) { return (20 + 5 * second) * kMs; }), Verdict::kNotStable);       // a growing queue
  EXPECT_EQ(Judge([](int second) { return (second < 2 ? 40 : 20) * kMs; }), Verdict::kNotStable);  // a warm-up
  EXPECT_EQ(Judge([](int) { return 20 * kMs; }, [](int second) { return second == 5 ? 100 : 300; }),
            Verdict::kNotStable);
}

// Returns the reason why a load is not stable. The load has five windows of two seconds. In one window, the latency is
// `latency` and the server answers `answered` requests per second.
std::string WhyNotStable(int64_t latency, int answered, int rate = 300) {
  const auto differs = [](int second) { return second == 4 || second == 5; };
  return JudgeStability(EvenLoad(
                            10, rate, [&](int second) { return differs(second) ? latency : 20 * kMs; },
                            [&](int second) { return differs(second) ? answered : rate; }),
                        0.15)
      .reason;
}

// The rates of windows may differ by 15 % plus three standard deviations of the count. Latencies may differ by 15 %
// plus 0.2 ms.
TEST(JudgeStability, ToleratesSmallDifferences) {
  EXPECT_EQ(WhyNotStable(20 * kMs, 219), "");
  EXPECT_EQ(WhyNotStable(20 * kMs, 218), "the rate is 218/s in window 3 of 5; the median of the windows is 300/s");
  EXPECT_EQ(WhyNotStable(23'190'000, 300), "");
  EXPECT_EQ(WhyNotStable(16'810'000, 300), "");
  EXPECT_EQ(WhyNotStable(23'210'000, 300), "p50 is 23.21 ms in window 3 of 5; the median of the windows is 20 ms");
  EXPECT_EQ(WhyNotStable(16'790'000, 300), "p50 is 16.79 ms in window 3 of 5; the median of the windows is 20 ms");
  EXPECT_EQ(WhyNotStable(20 * kMs, 10, 10), "");
  EXPECT_EQ(WhyNotStable(20 * kMs, 9, 10), "a window of 2 s has only 18 answers");
}

// Returns the reason why a load is not stable. In its last second, one answer of every twenty takes `slowest`.
std::string WhyTailIsNotStable(int rate, int64_t slowest) {
  LoadRecord record({0, 5 * kSecond}, 1);
  for (int64_t second = 0; second < 5; ++second) {
    for (int i = 0; i < rate; ++i) {
      const int64_t due = second * kSecond + i * kMs;
      record.Started(0, due, due);
      record.Answered(0, due, due + (second == 4 && i < rate / 20 ? slowest : 20 * kMs), kSecond);
    }
  }
  return JudgeStability(record, 0.15).reason;
}

// The limit for differences of p99 is three times the limit for p50. The p99 is checked only if each window has at
// least 200 answers.
TEST(JudgeStability, ATailMayDifferThreeTimesAsMuch) {
  EXPECT_EQ(WhyTailIsNotStable(200, 29'590'000), "");
  EXPECT_EQ(WhyTailIsNotStable(200, 29'610'000),
            "p99 is 29.61 ms in window 5 of 5; the median of the windows is 20 ms");
  EXPECT_EQ(WhyTailIsNotStable(199, 290 * kMs), "");
}

TEST(JudgeStability, AQueueGrowsIfLatencyRisesInEveryWindowAndMuchInTotal) {
  const auto growing = [](const std::vector<int64_t>& microseconds) {
    const auto latency = [&](int second) { return microseconds[static_cast<size_t>(second)] * 1000; };
    return JudgeStability(EvenLoad(5, 100, latency, [](int) { return 100; }), 0.15).growing;
  };
  EXPECT_TRUE(growing({20000, 22000, 24000, 26000, 30300}));
  EXPECT_FALSE(growing({20000, 22000, 24000, 26000, 30100}))
      << "the last window must be slower by more than half and 0.2 ms";
  EXPECT_FALSE(growing({20000, 22000, 21000, 26000, 40000}));
  EXPECT_FALSE(growing({20000, 22000, 22000, 26000, 40000}));
}

TEST(JudgeStability, GivesNoVerdictOnTooFewRequests) {
  const auto latency = [](int) { return 20 * kMs; };
  const auto all = [](int) { return 300; };
  EXPECT_EQ(JudgeStability(EvenLoad(2, 300, latency, all), 0.15).verdict, Stability::Verdict::kUnknown);
  EXPECT_EQ(JudgeStability(EvenLoad(10, 3, latency, all), 0.15).verdict, Stability::Verdict::kUnknown);
  EXPECT_EQ(JudgeStability(EvenLoad(3, 300, latency, all), 0.15).verdict, Stability::Verdict::kStable);
  const auto first_is_slow = [](int second) { return (second == 0 ? 90 : 20) * kMs; };
  EXPECT_THAT(JudgeStability(EvenLoad(4, 300, first_is_slow, all), 0.15).reason, HasSubstr("in window 1 of 3"));
  EXPECT_THAT(JudgeStability(EvenLoad(5, 300, first_is_slow, all), 0.15).reason, HasSubstr("in window 1 of 5"));
}

}  // namespace
}  // namespace vitrine
