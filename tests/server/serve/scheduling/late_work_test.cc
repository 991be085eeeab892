// SPDX-License-Identifier: Apache-2.0
// Tests that requests that cannot be answered by their deadline are not started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(10);

// Returns a request whose deadline is in `left` and whose answer takes at least `least`.
WaitingRequest Waiting(uint64_t sequence, absl::Duration left, absl::Duration least) {
  static const int model = 0;
  WaitingRequest request;
  request.sequence = sequence;
  request.model = &model;
  request.tokens = 10;
  request.arrival = kNow;
  request.deadline = kNow + left;
  request.least = least;
  return request;
}

constexpr absl::Duration kMillisecond = absl::Milliseconds(1);

TEST(DecideForLateRequest, ExpiresIfAnotherRequestCanMeetItsDeadline) {
  const std::vector<WaitingRequest> waiting = {Waiting(0, 10 * kMillisecond, 10 * kMillisecond),
                                               Waiting(1, 11 * kMillisecond, 10 * kMillisecond)};
  const BatchDecision decision = Decide(waiting, kNow, {});
  EXPECT_THAT(decision.expired, ElementsAre(0));
  EXPECT_THAT(decision.batch, ElementsAre(1));
}

TEST(DecideForLateRequest, RunsIfNoOtherRequestIsQueued) {
  std::vector<WaitingRequest> waiting = {
      Waiting(0, 9 * kMillisecond, 10 * kMillisecond), Waiting(1, 5 * kMillisecond, 10 * kMillisecond),
      Waiting(2, -kMillisecond, 10 * kMillisecond), Waiting(3, absl::Hours(1), 10 * kMillisecond)};
  waiting[3].cancelled = true;
  const BatchDecision decision = Decide(waiting, kNow, {});
  EXPECT_THAT(decision.batch, ElementsAre(1, 0));
  EXPECT_THAT(decision.expired, ElementsAre(2)) << "the deadline of request 2 has passed";
}

TEST(DecideForLateRequest, ARequestWithoutPredictionOrDeadlineIsNotLate) {
  std::vector<WaitingRequest> waiting = {Waiting(0, kMillisecond, {}), Waiting(1, absl::Hours(1), absl::Seconds(1))};
  waiting[1].deadline = absl::InfiniteFuture();
  EXPECT_THAT(Decide(waiting, kNow, {}).expired, IsEmpty());
}

TEST(DecideForSlowRequest, RunsSlowRequestsAloneAndInOrder) {
  std::vector<WaitingRequest> waiting;
  for (uint64_t i = 0; i < 5; ++i) waiting.push_back(Waiting(i, absl::Hours(1), {}));
  waiting[1].is_slow = waiting[3].is_slow = true;
  EXPECT_THAT(Decide(waiting, kNow, {}).batch, ElementsAre(0, 2, 4))
      << "the other requests do not wait for the slow one";
  waiting.erase(waiting.begin());
  EXPECT_THAT(Decide(waiting, kNow, {}).batch, ElementsAre(0)) << "the slow request keeps its position in the queue";
  EXPECT_THAT(Decide(waiting, kNow, {.max_wait = absl::Seconds(1)}).batch, ElementsAre(0))
      << "a slow request does not wait for others";
}

class LateWorkTest : public ::testing::Test {
 protected:
  // Makes the predicted time of a batch 100 ms.
  LateWorkTest() { model_->cost->ObserveCompute(10, absl::Milliseconds(100)); }

  void Submit(absl::Duration left, absl::Status& ended, bool is_probe = false) {
    InferenceRequest request;
    request.model = model_;
    request.tokens = 10;
    request.arrival = clock_.Now();
    request.deadline = clock_.Now() + left;
    request.is_probe = is_probe;
    request.done = [&](const absl::StatusOr<v1::ClassifyResponse>& answer) { ended = answer.status(); };
    scheduler_.Submit(std::move(request));
  }

  FakeClock clock_;
  std::shared_ptr<LoadedModel> model_ = std::make_shared<LoadedModel>();
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
};

TEST_F(LateWorkTest, ALateRequestEndsAtOnceWithTheReason) {
  absl::Status late = absl::UnknownError(""), in_time = late;
  Submit(absl::Milliseconds(79), late);
  // 81 ms suffice for a batch with a predicted time of 100 ms, because only four fifths of a prediction count. The
  // remaining fifth allows for errors of predictions.
  Submit(absl::Milliseconds(81), in_time);
  std::optional<Batch> batch = scheduler_.NextBatch();
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->requests.size(), 1U);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.ToString(), HasSubstr("would have come after the deadline"));
  EXPECT_EQ(in_time.code(), absl::StatusCode::kUnknown) << "the second request is in the batch";
  batch->requests.front()->Finish(v1::ClassifyResponse());
  EXPECT_TRUE(in_time.ok());
}

TEST_F(LateWorkTest, AnExpiredRequestGetsItsOwnError) {
  absl::Status past = absl::UnknownError(""), in_time = past;
  Submit(absl::Milliseconds(1), past);
  clock_.Advance(absl::Milliseconds(1));
  Submit(absl::Seconds(1), in_time);
  std::optional<Batch> batch = scheduler_.NextBatch();
  EXPECT_THAT(past.ToString(), HasSubstr("the deadline passed while the request waited"));
  batch->requests.front()->Finish(v1::ClassifyResponse());
}

// Predicts 0.5 us per pixel for decoding and 100 ms for compute. An image gets its own batch if its decoding takes more
// than twice as long as compute: 201 ms is enough, 200 ms is not.
TEST_F(LateWorkTest, ARequestIsSlowIfItIsLargeAndDecodingDominates) {
  Scheduler scheduler{{}, clock_, /*sweep=*/false};
  absl::Status ended;
  // Returns true if the second request runs alone, and the first runs together with the third.
  const auto is_slow = [&](int quick, int slow) {
    for (const int pixels : {quick, slow, 100}) {
      InferenceRequest request;
      request.model = model_;
      request.tokens = 10;
      request.geometry.original = {1, pixels};
      request.arrival = clock_.Now();
      request.done = [&](const absl::StatusOr<v1::ClassifyResponse>& answer) { ended = answer.status(); };
      scheduler.Submit(std::move(request));
    }
    const size_t first = scheduler.NextBatch()->requests.size();
    return first == 2 && scheduler.NextBatch()->requests.size() == 1;
  };
  model_->cost->ObserveDecode(2000, absl::Milliseconds(1));
  EXPECT_TRUE(is_slow(400'000, 402'000));
  for (int i = 0; i < 100; ++i) model_->cost->ObserveCompute(1'000'000, absl::Milliseconds(1));
  EXPECT_TRUE(is_slow((1 << 18) - 1, 1 << 18)) << "an image below 2^18 pixels is never slow";
  for (int i = 0; i < 200; ++i) model_->cost->ObserveDecode(1'000'000, absl::Milliseconds(10));
  EXPECT_TRUE(is_slow(999'900, 1'000'200)) << "an image with a short predicted time is never slow";
}

// Tests a probe that cannot be answered by its deadline. It must run, because it shows that the server still computes.
TEST_F(LateWorkTest, AProbeAlwaysRuns) {
  absl::Status probe = absl::UnknownError(""), other = probe;
  Submit(absl::Milliseconds(50), probe, /*is_probe=*/true);
  Submit(absl::Seconds(1), other);
  std::optional<Batch> batch = scheduler_.NextBatch();
  EXPECT_EQ(probe.code(), absl::StatusCode::kUnknown);
  batch->requests.front()->Finish(v1::ClassifyResponse());
  EXPECT_TRUE(probe.ok());
  scheduler_.NextBatch()->requests.front()->Finish(v1::ClassifyResponse());
}

}  // namespace
}  // namespace vitrine
