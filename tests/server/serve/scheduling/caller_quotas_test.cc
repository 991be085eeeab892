// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/caller_quotas.h"

#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "server/process/shed.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

Caller WithQuota(const CallerQuota& quota, const std::string& name = "token:a") {
  return {.name = name, .quota = std::make_shared<const CallerQuota>(quota)};
}

TEST(BurstOf, IsTheSetBurstOrTheRequestsOfOneSecond) {
  EXPECT_EQ(BurstOf({.requests_per_second = 4, .burst = 3}), 3);
  EXPECT_EQ(BurstOf({.requests_per_second = 4.5}), 4.5);
  EXPECT_EQ(BurstOf({.requests_per_second = 0.5}), 1) << "otherwise no request would ever be admitted";
  EXPECT_EQ(BurstOf({}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(BurstOf({.burst = 3}), std::numeric_limits<double>::infinity()) << "the rate is unlimited";
}

TEST(CallerQuotas, CallersWithoutAQuotaTakeNoMemory) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(quotas.Admit({.name = "token:a"}).ok());
  EXPECT_EQ(quotas.callers(), 0u);
}

TEST(CallerQuotas, TheRateAppliesAfterTheBurst) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  const Caller caller = WithQuota({.requests_per_second = 4, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(quotas.Admit(caller).ok()) << i;
  const absl::Status refused = quotas.Admit(caller).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ShedReasonOf(refused), ShedReason::kQuota);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("quota of 4 requests per second with bursts of 3"));
  ASSERT_EQ(RetryAfter(refused), absl::Milliseconds(250));
  clock.Advance(absl::Milliseconds(249));
  EXPECT_FALSE(quotas.Admit(caller).ok());
  clock.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(quotas.Admit(caller).ok()) << "the retry time must be right";
  EXPECT_FALSE(quotas.Admit(caller).ok());
  clock.Advance(absl::Hours(1));
  int admitted = 0;
  while (quotas.Admit(caller).ok()) ++admitted;
  EXPECT_EQ(admitted, 3) << "an idle hour allows no more than the burst";
}

TEST(CallerQuotas, TheRateIsExactOverALongTime) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  const Caller caller = WithQuota({.requests_per_second = 30, .burst = 1});
  int admitted = 0;
  for (int i = 0; i < 100'000; ++i) {
    admitted += quotas.Admit(caller).ok();
    clock.Advance(absl::Milliseconds(1));
  }
  EXPECT_NEAR(admitted, 3000, 60);
}

TEST(CallerQuotas, RequestsInFlightAreBoundedAndRejectedOnesDoNotCount) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  const Caller caller = WithQuota({.requests_per_second = 100, .burst = 3, .max_in_flight = 2});
  auto first = quotas.Admit(caller);
  auto second = quotas.Admit(caller);
  ASSERT_TRUE(first.ok() && second.ok());
  for (int i = 0; i < 10; ++i) {
    const absl::Status refused = quotas.Admit(caller).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("2 requests in flight"));
  }
  EXPECT_TRUE(quotas.Admit(WithQuota({.max_in_flight = 1}, "token:b")).ok()) << "each caller has its own count";
  clock.Advance(absl::Milliseconds(1));
  first->Release();
  first->Release();
  EXPECT_TRUE(quotas.Admit(caller).ok()) << "the burst still allows a third request";
}

TEST(CallerQuotas, TheRetryTimeFollowsTheDurationOfRequests) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  const Caller caller = WithQuota({.max_in_flight = 2});
  for (int i = 0; i < 30; ++i) {
    auto ticket = quotas.Admit(caller);
    clock.Advance(absl::Seconds(3));
  }
  auto first = quotas.Admit(caller);
  auto second = quotas.Admit(caller);
  EXPECT_EQ(RetryAfter(quotas.Admit(caller).status()), absl::Milliseconds(1500))
      << "two requests end every three seconds";
}

TEST(CallerQuotas, CancelledRequestsDoNotCount) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  const Caller caller = WithQuota({.requests_per_second = 100, .burst = 3, .max_in_flight = 2});
  auto slow = quotas.Admit(caller);
  clock.Advance(absl::Seconds(3));
  slow->Release();
  for (int i = 0; i < 1000; ++i) {
    auto ticket = quotas.Admit(caller);
    ASSERT_TRUE(ticket.ok()) << i;
    ticket->Cancel();
    ticket->Cancel();
  }
  auto first = quotas.Admit(caller);
  auto second = quotas.Admit(caller);
  EXPECT_EQ(RetryAfter(quotas.Admit(caller).status()), absl::Milliseconds(1500));
  first->Release();
  EXPECT_TRUE(quotas.Admit(caller).ok()) << "the burst allows a third request";
  EXPECT_FALSE(quotas.Admit(caller).ok()) << "the burst allows no fourth request";
}

TEST(CallerQuotas, ANewQuotaAppliesFromTheNextRequest) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  auto held = quotas.Admit(WithQuota({.max_in_flight = 5}));
  EXPECT_FALSE(quotas.Admit(WithQuota({.max_in_flight = 1})).ok());
  EXPECT_TRUE(quotas.Admit(WithQuota({.max_in_flight = 2})).ok());
}

TEST(CallerQuotas, IdleCallersAreRemoved) {
  FakeClock clock;
  CallerQuotas quotas(clock);
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(quotas.Admit(WithQuota({.requests_per_second = 1, .burst = 2}, "token:" + std::to_string(i))).ok());
    clock.Advance(absl::Milliseconds(100));
  }
  EXPECT_LT(quotas.callers(), 200u);
}

TEST(CallerQuotas, ManyThreadsStayWithinTheBound) {
  CallerQuotas quotas(SteadyClock());
  const Caller caller = WithQuota({.max_in_flight = 3});
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto ticket = quotas.Admit(caller);
        if (!ticket.ok()) continue;
        const int now_inside = ++inside;
        for (int seen = most; seen < now_inside && !most.compare_exchange_weak(seen, now_inside);) {
        }
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  std::vector<absl::StatusOr<HeldQuota>> held;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(held.emplace_back(quotas.Admit(caller)).ok()) << "all places must be free again";
}

}  // namespace
}  // namespace vitrine
