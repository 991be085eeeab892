// SPDX-License-Identifier: Apache-2.0
#include "client/lib/in_flight_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vitrine {
namespace {

// A simulated server that computes up to `places` requests at a time. Each request takes the time `latency`. Further
// requests wait, so they do not increase the rate.
class MadeServer {
 public:
  MadeServer(int places, absl::Duration latency) : places_(places), latency_(latency) {}

  // Simulates `answers` answers, with as many requests in flight as `limit` allows.
  void Answer(InFlightLimit& limit, int answers) {
    for (int i = 0; i < answers; ++i) {
      const int busy = limit.limit();
      now_ += latency_ / std::min(busy, places_);
      limit.OnAnswer(busy, now_);
    }
  }
  absl::Time now() const { return now_; }

 private:
  const int places_;
  const absl::Duration latency_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST(InFlightLimit, RisesAsLongAsTheRateIncreases) {
  InFlightLimit limit(64);
  MadeServer server(20, absl::Milliseconds(10));
  server.Answer(limit, 20000);
  EXPECT_GE(limit.limit(), 16);
  EXPECT_LE(limit.limit(), 26);
}

TEST(InFlightLimit, StaysLowIfMoreRequestsDoNotIncreaseTheRate) {
  InFlightLimit limit(64);
  MadeServer server(1, absl::Milliseconds(5));
  server.Answer(limit, 5000);
  EXPECT_LE(limit.limit(), 5);
}

TEST(InFlightLimit, IsHalvedOnceForRequestsSentBeforeTheRejection) {
  InFlightLimit limit(64, 32);
  const absl::Time now = absl::FromUnixSeconds(1000);
  limit.OnOverload(now, now + absl::Milliseconds(10));
  EXPECT_EQ(limit.limit(), 16);
  limit.OnOverload(now + absl::Milliseconds(5), now + absl::Milliseconds(11));
  EXPECT_EQ(limit.limit(), 16) << "a rejection of a request that was sent before must not halve the limit again";
  limit.OnOverload(now + absl::Milliseconds(20), now + absl::Milliseconds(30));
  EXPECT_EQ(limit.limit(), 8);
  for (int i = 1; i < 10; ++i) limit.OnOverload(now + absl::Seconds(i), now + absl::Seconds(i));
  EXPECT_EQ(limit.limit(), 1);
}

// Simulates answers at intervals of `gap`, each with `in_flight` requests at the server.
void AnswerEvery(absl::Duration gap, int answers, int in_flight, InFlightLimit& limit, absl::Time& now) {
  for (int i = 0; i < answers; ++i) limit.OnAnswer(in_flight, now += gap);
}

// Simulates the answers of one window, which is a time in which the rate of answers is measured: four answers for each
// request in flight, 10 ms apart by default.
void AnswerWindow(InFlightLimit& limit, absl::Time& now, absl::Duration gap = absl::Milliseconds(10)) {
  AnswerEvery(gap, 4 * limit.limit(), limit.limit(), limit, now);
}

TEST(InFlightLimit, StartsWithinItsBounds) {
  EXPECT_EQ(InFlightLimit(8, 0).limit(), 1);
  EXPECT_EQ(InFlightLimit(8, 1).limit(), 1);
  EXPECT_EQ(InFlightLimit(8, 8).limit(), 8);
  EXPECT_EQ(InFlightLimit(8, 9).limit(), 8);
}

TEST(InFlightLimit, AWindowHasFourAnswersPerSlotAndAtLeastFiftyMilliseconds) {
  absl::Time now = absl::FromUnixSeconds(1000);
  InFlightLimit slow(64, 4);
  slow.OnAnswer(4, now);  // begins the first window
  AnswerEvery(absl::Milliseconds(10), 15, 4, slow, now);
  EXPECT_EQ(slow.limit(), 4);
  AnswerEvery(absl::Milliseconds(10), 1, 4, slow, now);
  EXPECT_EQ(slow.limit(), 5) << "the window must end with the sixteenth answer";
  AnswerEvery(absl::Milliseconds(9), 19, 5, slow, now);
  EXPECT_EQ(slow.limit(), 5) << "each window must count its own answers";
  AnswerEvery(absl::Milliseconds(9), 1, 5, slow, now);
  EXPECT_EQ(slow.limit(), 6);

  InFlightLimit quick(64, 4);
  quick.OnAnswer(4, now);
  AnswerEvery(absl::Milliseconds(1), 49, 4, quick, now);
  EXPECT_EQ(quick.limit(), 4);
  AnswerEvery(absl::Milliseconds(1), 1, 4, quick, now);
  EXPECT_EQ(quick.limit(), 5) << "the window must end 50 ms after its start";
}

TEST(InFlightLimit, RisesByAQuarterAndAtLeastOne) {
  const auto raised = [](int most, int first) {
    absl::Time now = absl::FromUnixSeconds(1000);
    InFlightLimit limit(most, first);
    limit.OnAnswer(first, now);
    AnswerWindow(limit, now);
    return limit.limit();
  };
  EXPECT_EQ(raised(64, 2), 3);
  EXPECT_EQ(raised(64, 8), 10);
  EXPECT_EQ(raised(64, 16), 20);
  EXPECT_EQ(raised(17, 16), 17);
  EXPECT_EQ(raised(16, 16), 16);
}

// An increased limit stays if the rate gains 4.2 %, and is reverted if it gains 2.1 %. After a reverted increase, the
// limit stays constant for eight windows.
TEST(InFlightLimit, AnIncreaseWithoutGainIsRevertedForEightWindows) {
  absl::Time now = absl::FromUnixSeconds(1000);
  InFlightLimit limit(64, 4);
  limit.OnAnswer(4, now);
  AnswerWindow(limit, now);
  ASSERT_EQ(limit.limit(), 5);
  AnswerWindow(limit, now, absl::Milliseconds(9.6));
  ASSERT_EQ(limit.limit(), 6) << "after a gain, the limit must increase again at once";
  AnswerWindow(limit, now, absl::Milliseconds(9.4));
  for (int rest = 0; rest < 8; ++rest) {
    EXPECT_EQ(limit.limit(), 5) << rest;
    AnswerWindow(limit, now);
  }
  EXPECT_EQ(limit.limit(), 5);
  AnswerWindow(limit, now);
  EXPECT_EQ(limit.limit(), 6);
}

TEST(InFlightLimit, ARejectionEndsAnIncreaseAndKeepsTheLimitForEightWindows) {
  absl::Time now = absl::FromUnixSeconds(1000);
  InFlightLimit limit(64, 4);
  limit.OnAnswer(4, now);
  AnswerWindow(limit, now);
  ASSERT_EQ(limit.limit(), 5);
  AnswerEvery(absl::Milliseconds(10), 19, 5, limit, now);
  limit.OnOverload(now, now);
  EXPECT_EQ(limit.limit(), 2);
  limit.OnOverload(now, now + absl::Milliseconds(1));
  EXPECT_EQ(limit.limit(), 2) << "a request that was sent at the time of the rejection must not count";
  limit.OnAnswer(2, now);  // begins a new window
  for (int rest = 0; rest < 8; ++rest) {
    AnswerWindow(limit, now, absl::Milliseconds(50));
    EXPECT_EQ(limit.limit(), 2) << "a slower window must not restore the limit of 4";
  }
  AnswerWindow(limit, now, absl::Milliseconds(50));
  EXPECT_EQ(limit.limit(), 3);
}

TEST(InFlightLimit, AWindowCountsIfTheLimitWasReachedOnce) {
  absl::Time now = absl::FromUnixSeconds(1000);
  InFlightLimit limit(64, 4);
  limit.OnAnswer(4, now);
  AnswerEvery(absl::Milliseconds(10), 16, 3, limit, now);
  EXPECT_EQ(limit.limit(), 4) << "the limit must stay if only the source is slow";
  AnswerEvery(absl::Milliseconds(10), 1, 4, limit, now);
  AnswerEvery(absl::Milliseconds(10), 15, 3, limit, now);
  EXPECT_EQ(limit.limit(), 5);
  AnswerEvery(absl::Milliseconds(10), 20, 4, limit, now);
  EXPECT_EQ(limit.limit(), 5) << "the earlier window must not count";
}

}  // namespace
}  // namespace vitrine
