// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/answer_budget.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "server/process/shed.h"

namespace vitrine {
namespace {

TEST(AnswerBudget, IsBoundedAndReleasesReservations) {
  FakeClock clock;
  AnswerBudget budget(100, clock);
  auto first = budget.Reserve(60);
  auto second = budget.Reserve(40);
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status refused = budget.Reserve(1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ShedReasonOf(refused), ShedReason::kAnswers);
  EXPECT_TRUE(RetryAfter(refused).has_value());
  HeldRoom moved = *std::move(second);
  EXPECT_EQ(moved->bytes, 40);
  moved.Release();
  moved.Release();
  EXPECT_EQ(budget.reserved(), 60);
  EXPECT_TRUE(budget.Reserve(40).ok());
  EXPECT_EQ(budget.reserved(), 60) << "a reservation that is not kept is released";
}

TEST(AnswerBudget, AnAnswerCountsWithItsRealSize) {
  FakeClock clock;
  AnswerBudget budget(100, clock);
  HeldRoom first = *budget.Reserve(60);
  AnswerBudget::Resize(first, 20);
  EXPECT_EQ(budget.reserved(), 20);
  HeldRoom second = *budget.Reserve(80);
  AnswerBudget::Resize(second, 300);
  EXPECT_EQ(budget.reserved(), 320) << "the answer counts even if it is larger than its reservation";
  first.Release();
  second.Release();
  EXPECT_EQ(budget.reserved(), 0);
  AnswerBudget::Resize(first, 5);
  EXPECT_EQ(budget.reserved(), 0) << "a released reservation cannot be resized";
}

TEST(AnswerBudget, ASingleAnswerMayExceedTheBudget) {
  FakeClock clock;
  AnswerBudget budget(100, clock);
  const auto large = budget.Reserve(1000);
  EXPECT_TRUE(large.ok());
  EXPECT_FALSE(budget.Reserve(1).ok());
}

TEST(AnswerBudget, TheRetryTimeFollowsTheRateAtWhichAnswersAreRead) {
  FakeClock clock;
  AnswerBudget budget(100, clock);
  for (int i = 0; i < 30; ++i) {
    const auto answer = budget.Reserve(10);
    clock.Advance(absl::Seconds(4));
  }
  std::vector<absl::StatusOr<HeldRoom>> held;
  for (int i = 0; i < 10; ++i) held.push_back(budget.Reserve(10));
  EXPECT_EQ(RetryAfter(budget.Reserve(25).status()), absl::Seconds(1))
      << "a quarter of the bytes is read in a quarter of four seconds";
}

TEST(AnswerBudget, CancelledReservationsDoNotCountForTheRate) {
  FakeClock clock;
  AnswerBudget budget(100, clock);
  auto held = budget.Reserve(90);
  clock.Advance(absl::Seconds(4));
  held->Release();
  held = budget.Reserve(80);
  for (int i = 0; i < 1000; ++i) {
    auto refused_later = budget.Reserve(20);
    ASSERT_TRUE(refused_later.ok());
    refused_later->Cancel();
    refused_later->Cancel();
  }
  EXPECT_EQ(budget.reserved(), 80);
  EXPECT_EQ(RetryAfter(budget.Reserve(40).status()), absl::Seconds(1))
      << "a quarter of the bytes is read in a quarter of four seconds";
}

}  // namespace
}  // namespace vitrine
