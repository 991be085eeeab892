// SPDX-License-Identifier: Apache-2.0
// Tests draining with a clock that only the test advances.
#include "server/serve/request/drain.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace vitrine {
namespace {

// Advances the clock by a millisecond at a time while Run waits, so that the steps of Run come in a fixed order.
class DrainTest : public ::testing::Test {
 protected:
  absl::Duration Run(Drain& drain, const std::function<void(absl::Duration)>& each_step = nullptr) {
    const absl::Time begin = clock_.Now();
    std::atomic<bool> ended = false;
    std::thread runner([&] {
      drain.Run(
          ledger_, [&] { refused_at_ = clock_.Now() - begin; },
          [&] {
            return Drain::Unanswered{computing_.load(), unread_.load(), unsent_.load()};
          });
      ended = true;
    });
    while (!ended) {
      clock_.Advance(absl::Milliseconds(1));
      if (each_step) each_step(clock_.Now() - begin);
      // Every test expects that Run ends within 20 s. If Run has not ended by then, lets every deadline pass, so that
      // the test fails soon.
      if (clock_.Now() - begin > absl::Seconds(20)) clock_.Advance(absl::Hours(24));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    runner.join();
    return clock_.Now() - begin;
  }

  FakeClock clock_;
  Ledger ledger_;
  std::atomic<bool> computing_ = false;
  std::atomic<int64_t> unread_ = 0;  // bytes of unread answers
  std::atomic<int64_t> unsent_ = 0;  // bytes that the kernel has not accepted
  absl::Duration refused_at_;
};

TEST_F(DrainTest, ServesDuringTheLameDuckAndThenRefuses) {
  Drain drain({.lame_duck = absl::Milliseconds(300), .deadline = absl::Seconds(30)}, clock_);
  const absl::Duration took = Run(drain);
  EXPECT_GE(refused_at_, absl::Milliseconds(300));
  EXPECT_GE(took, absl::Milliseconds(550));
  EXPECT_LT(took, absl::Seconds(5));
}

TEST_F(DrainTest, WaitsForRunningComputations) {
  Drain drain({.deadline = absl::Seconds(30)}, clock_);
  unread_ = 1;
  computing_ = true;
  const absl::Duration took = Run(drain, [&](absl::Duration passed) {
    if (passed < absl::Seconds(5)) return;
    unread_ = 0;
    computing_ = false;
  });
  EXPECT_GE(took, absl::Seconds(5)) << "computing work is not given up after the unread grace";
}

// Rejected clients retry at once, so there is always a request in flight.
TEST_F(DrainTest, RejectedRequestsDoNotDelayTheEnd) {
  Drain drain({.deadline = absl::Minutes(10)}, clock_);
  ledger_.Accept();
  const absl::Duration took = Run(drain, [&](absl::Duration) {
    ledger_.Accept();
    ledger_.Answer();
  });
  EXPECT_GT(ledger_.in_flight(), 0);
  EXPECT_LT(took, absl::Seconds(10)) << "the deadline is ten minutes";
}

TEST_F(DrainTest, GivesUpUnreadAnswersAfterTheGracePeriod) {
  Drain drain({.deadline = absl::Seconds(30)}, clock_);
  unread_ = 1;
  const absl::Duration took = Run(drain);
  EXPECT_GE(took, Drain::kUnreadGrace);
  EXPECT_LT(took, absl::Seconds(10));
}

TEST_F(DrainTest, WaitsForAClientThatReadsAnswersSlowly) {
  Drain drain({.deadline = absl::Seconds(30)}, clock_);
  constexpr int kAnswers = 5;
  unread_ = kAnswers;
  absl::Duration next = Drain::kUnreadGrace * 0.75;
  const absl::Duration took = Run(drain, [&](absl::Duration passed) {
    if (passed < next || unread_ == 0) return;
    --unread_;
    next = passed + Drain::kUnreadGrace * 0.75;
  });
  EXPECT_EQ(unread_, 0) << "a client that reads slowly is waited for, though nothing is computed";
  EXPECT_GE(took, kAnswers * Drain::kUnreadGrace * 0.75);
}

TEST_F(DrainTest, WaitsForALargeAnswerThatIsReadSlowly) {
  Drain drain({.deadline = absl::Seconds(30)}, clock_);
  unread_ = unsent_ = 5;
  absl::Duration next = Drain::kUnreadGrace * 0.75;
  Run(drain, [&](absl::Duration passed) {
    if (passed < next || unsent_ == 0) return;
    if (--unsent_ == 0) unread_ = 0;
    next = passed + Drain::kUnreadGrace * 0.75;
  });
  EXPECT_EQ(unread_, 0) << "the client reads one answer slowly";
}

TEST_F(DrainTest, RejectionsDoNotCountAsReading) {
  Drain drain({.deadline = absl::Minutes(10)}, clock_);
  unread_ = unsent_ = 5;
  const absl::Duration took = Run(drain, [&](absl::Duration) { unsent_ = 11 - unsent_; });
  EXPECT_LT(took, absl::Seconds(10)) << "the deadline is ten minutes";
}

TEST_F(DrainTest, EndsAtTheDeadline) {
  Drain drain({.deadline = absl::Seconds(3)}, clock_);
  computing_ = true;
  const absl::Duration took = Run(drain);
  EXPECT_GE(took, absl::Seconds(3));
  EXPECT_LT(took, absl::Seconds(8));
}

TEST_F(DrainTest, HurryReducesTheDeadlineToOneSecond) {
  Drain drain({.lame_duck = absl::Minutes(10), .deadline = absl::Minutes(10)}, clock_);
  computing_ = true;
  bool hurried = false;
  const absl::Duration took = Run(drain, [&](absl::Duration passed) {
    if (passed < absl::Milliseconds(200) || hurried) return;
    drain.Hurry();
    hurried = true;
  });
  EXPECT_GE(took, Drain::kHurriedDeadline);
  EXPECT_LT(took, absl::Seconds(10));
}

}  // namespace
}  // namespace vitrine
