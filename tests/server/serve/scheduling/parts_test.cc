// SPDX-License-Identifier: Apache-2.0
// Tests batches that take only a part of the queue, because larger batches would not be computed faster. The tests
// cover the policy, the queue and admission.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

// Provides ten requests of 100 tokens and 1 ms each.
class BatchPartTest : public ::testing::Test {
 protected:
  BatchPartTest() {
    for (int i = 0; i < 10; ++i) {
      waiting_.emplace_back().tokens = 100;
      waiting_.back().cost = absl::Milliseconds(1);
      batch_.push_back(static_cast<size_t>(i));
    }
  }

  size_t Part(int queued_ms, int executors) const {
    return PartOf(waiting_, batch_, absl::Milliseconds(queued_ms), executors);
  }

  std::vector<WaitingRequest> waiting_;
  std::vector<size_t> batch_;
};

TEST_F(BatchPartTest, IsOneGroupOrHalfOfAnExecutorsShare) {
  EXPECT_EQ(PartOf(waiting_, {}, absl::Milliseconds(10), 2), 0);
  EXPECT_EQ(Part(10, 2), 2)
      << "a group of 272 tokens has two requests, and a quarter of the queue has fewer than three";
  EXPECT_EQ(Part(11, 2), 2);
  EXPECT_EQ(Part(12, 2), 3);
  EXPECT_EQ(Part(10, 1), 5);
  EXPECT_EQ(Part(80, 2), 10) << "the part has no more requests than the batch";
  EXPECT_EQ(Part(10, 0), 10) << "without executors, a larger batch is always faster";
}

TEST_F(BatchPartTest, IsAtLeastOneRequestAndAllWithoutKnownCosts) {
  waiting_[0].tokens = 1000;
  EXPECT_EQ(Part(7, 2), 1);
  for (WaitingRequest& request : waiting_) request.cost = {};
  EXPECT_EQ(Part(0, 2), 10);
}

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    model_->queue_limits = limits_;
    model_->cost->ObserveCompute(1000, absl::Seconds(1));  // one millisecond per token
  }

  InferenceRequest Request(int64_t tokens, const std::string& id = "") const {
    InferenceRequest request;
    request.model = model_;
    request.tokens = tokens;
    request.arrival = clock_.Now();
    request.request.set_request_id(id);
    request.input = "x";
    return request;
  }

  void Submit(Scheduler& scheduler, int i, int64_t tokens) const {
    InferenceRequest request = Request(tokens, std::to_string(i));
    Place place;
    place.cost = tokens * absl::Milliseconds(1);
    request.admitted = std::make_shared<Admitted>(Admitted{.place = HeldPlace(nullptr, place)});
    request.done = [](const absl::StatusOr<v1::ClassifyResponse>&) {};
    scheduler.Submit(std::move(request));
  }

  static std::vector<std::string> Ids(const std::optional<Batch>& batch) {
    std::vector<std::string> ids;
    for (const auto& request : batch->requests) ids.push_back(request->request.request_id());
    return ids;
  }

  // Sets the model's maximum wait for a fuller batch.
  void Wait(BatchLimits own, absl::Duration max_wait) const {
    own.max_wait = max_wait;
    limits_->set_batch(own);
  }

  FakeClock clock_;
  std::shared_ptr<QueueLimits> limits_ = std::make_shared<QueueLimits>();
  std::shared_ptr<LoadedModel> model_ = std::make_shared<LoadedModel>();
};

// Submits twelve images of 224 x 224 pixels for two executors.
TEST_F(PartsTest, BatchesShrinkWithTheQueue) {
  Scheduler scheduler({.executors = 2}, clock_, /*sweep=*/false);
  for (int i = 0; i < 12; ++i) Submit(scheduler, i, 197);
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("0", "1", "2")) << "three requests are a quarter of the queue";
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("3", "4"));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("5")) << "a quarter of seven requests is less than two";
  for (int i = 12; i < 20; ++i) Submit(scheduler, i, 17);
  for (int i = 6; i < 11; ++i) EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre(std::to_string(i)));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("11", "12", "13", "14", "15"))
      << "272 tokens are the limit of a group";
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("16", "17", "18", "19"));
}

TEST_F(PartsTest, AModelWithAMaximumWaitHasWholeBatches) {
  const BatchOptions options = {.executors = 2};
  Scheduler scheduler(options, clock_, /*sweep=*/false);
  Wait(options.Limits(), absl::Milliseconds(5));
  for (int i = 0; i < 3; ++i) Submit(scheduler, i, 197);
  clock_.Advance(absl::Milliseconds(5));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("0", "1", "2"));
}

// Admits images of 200 ms each. Six images of another caller are in flight on two executors, and a full batch takes 1
// s.
TEST_F(PartsTest, AdmissionPredictsPartialBatches) {
  const auto admits = [&](bool in_parts, absl::Duration max_wait) {
    Admission admission({.executors = 2, .max_batch_tokens = 1000, .in_parts = in_parts}, clock_);
    Wait({1000, 64, 1 << 20, {}}, max_wait);
    std::vector<HeldPlace> held;
    for (int i = 0; i < 6; ++i) {
      InferenceRequest theirs = Request(200);
      theirs.caller = "theirs";
      held.push_back(admission.Admit(theirs).value());
    }
    InferenceRequest mine = Request(200);
    mine.caller = "mine";
    mine.deadline = clock_.Now() + absl::Milliseconds(700);  // admits a predicted time of up to 560 ms
    return admission.Admit(mine).ok();
  };
  EXPECT_TRUE(admits(true, absl::ZeroDuration()));
  EXPECT_FALSE(admits(false, absl::ZeroDuration()));
  EXPECT_FALSE(admits(true, absl::Milliseconds(1))) << "a model with a maximum wait has whole batches";
}

}  // namespace
}  // namespace vitrine
