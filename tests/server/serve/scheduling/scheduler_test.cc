// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/scheduler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "server/observe/metrics.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SchedulerTest : public ::testing::Test {
 protected:
  // Returns a request that, when answered, appends the answer's status code to codes_[i].
  InferenceRequest Request(int i, int64_t tokens = 10) {
    if (static_cast<int>(codes_.size()) <= i) codes_.resize(i + 1);
    InferenceRequest request;
    request.model = model_;
    request.tokens = tokens;
    request.arrival = clock_.Now();
    request.request.set_request_id(std::to_string(i));
    request.input = "x";
    request.done = [this, i](absl::StatusOr<v1::ClassifyResponse> answer) {
      codes_[i].push_back(answer.status().code());
    };
    return request;
  }

  static std::vector<std::string> Ids(const std::optional<Batch>& batch) {
    std::vector<std::string> ids;
    if (!batch.has_value()) return ids;
    for (const auto& request : batch->requests) ids.push_back(request->request.request_id());
    return ids;
  }

  FakeClock clock_;
  ModelHandle model_ = std::make_shared<LoadedModel>();
  std::vector<std::vector<absl::StatusCode>> codes_;
};

TEST_F(SchedulerTest, ReturnsTheBatchesOfThePolicy) {
  Scheduler scheduler({.max_batch_images = 2}, clock_, /*sweep=*/false);
  for (int i = 0; i < 3; ++i) scheduler.Submit(Request(i));
  InferenceRequest high = Request(3);
  high.request.set_priority(v1::HIGH);
  scheduler.Submit(std::move(high));
  EXPECT_EQ(scheduler.depth().requests, 4);
  EXPECT_EQ(scheduler.depth().tokens, 40);
  EXPECT_EQ(scheduler.depth().bytes, 4);
  const auto first = scheduler.NextBatch();
  const auto second = scheduler.NextBatch();
  EXPECT_THAT(Ids(first), ElementsAre("3", "0"));
  EXPECT_THAT(Ids(second), ElementsAre("1", "2"));
  EXPECT_EQ(second->id, first->id + 1);
  EXPECT_EQ(scheduler.depth().requests, 0);
  EXPECT_EQ(scheduler.depth().bytes, 0);
}

TEST_F(SchedulerTest, AModelsOwnLimitsApplyFromTheNextBatch) {
  const auto limits = std::make_shared<QueueLimits>();
  const auto model = std::make_shared<LoadedModel>();
  model->queue_limits = limits;
  model_ = model;
  const BatchOptions options = {.max_batch_images = 2};
  Scheduler scheduler(options, clock_, /*sweep=*/false);
  for (int i = 0; i < 10; ++i) scheduler.Submit(Request(i));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("0", "1"))
      << "without limits of the model, the common ones apply";
  BatchLimits own = options.Limits();
  own.max_batch_images = 3;
  limits->set_batch(own);
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("2", "3", "4")) << "the model's own limit may be higher";
  own.max_batch_tokens = 10;
  limits->set_batch(own);
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("5"));
  own = options.Limits();
  own.max_batch_images = 64;
  own.max_wait = absl::Seconds(5);
  limits->set_batch(own);
  std::jthread stop([&] { scheduler.Stop(absl::Minutes(1)); });
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("6", "7", "8", "9"))
      << "a draining scheduler does not wait for more requests";
}

TEST_F(SchedulerTest, ExpiredRequestsAreAnsweredWithoutAnExecutor) {
  Scheduler scheduler({}, clock_, /*sweep=*/false);
  InferenceRequest request = Request(0);
  request.deadline = clock_.Now() + absl::Milliseconds(10);
  scheduler.Submit(std::move(request));
  scheduler.Submit(Request(1));
  scheduler.Sweep();
  EXPECT_THAT(codes_[0], IsEmpty());
  clock_.Advance(absl::Milliseconds(10));
  scheduler.Sweep();
  EXPECT_THAT(codes_[0], ElementsAre(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(codes_[1], IsEmpty());
  EXPECT_EQ(scheduler.depth().requests, 1);
}

// Submits seven images, which could form one batch, while four executors are idle.
TEST_F(SchedulerTest, IdleExecutorsShareTheRequestsOfOneBatch) {
  constexpr int kExecutors = 4, kImages = 8;
  Scheduler scheduler({.max_batch_images = kImages, .max_wait = absl::Seconds(1)}, clock_, /*sweep=*/false);
  Mutex mutex;
  std::vector<size_t> sizes;
  std::vector<std::jthread> executors;
  for (int i = 0; i < kExecutors; ++i) {
    executors.emplace_back([&] {
      const std::optional<Batch> batch = scheduler.NextBatch();
      MutexLock lock(mutex);
      sizes.push_back(batch.has_value() ? batch->requests.size() : 0);
    });
  }
  while (scheduler.idle() < kExecutors) std::this_thread::yield();
  for (int i = 0; i < kImages - 1; ++i) scheduler.Submit(Request(i));  // one request less than a full batch
  while (scheduler.idle() < kExecutors) std::this_thread::yield();
  clock_.Advance(absl::Seconds(1));
  scheduler.Sweep();
  executors.clear();
  EXPECT_THAT(sizes, UnorderedElementsAre(2, 2, 2, 1));
}

TEST_F(SchedulerTest, OldestAgeComesFromTheLastSweepOrLaterRequests) {
  Scheduler scheduler({.max_batch_images = 1}, clock_, /*sweep=*/false);
  EXPECT_EQ(scheduler.depth().oldest, absl::ZeroDuration());
  scheduler.Submit(Request(0));
  clock_.Advance(absl::Seconds(2));
  scheduler.Submit(Request(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(scheduler.depth().oldest, absl::Seconds(3));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("0"));
  scheduler.Sweep();
  EXPECT_EQ(scheduler.depth().oldest, absl::Seconds(1));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("1"));
  EXPECT_EQ(scheduler.depth().oldest, absl::ZeroDuration());
  scheduler.Submit(Request(2));
  EXPECT_EQ(scheduler.depth().oldest, absl::ZeroDuration()) << "the new request is the only one";
}

TEST_F(SchedulerTest, CancelledAndExpiredRequestsReachNoExecutor) {
  Scheduler scheduler({}, clock_, /*sweep=*/false);
  InferenceRequest cancelled = Request(0), expired = Request(1);
  cancelled.cancelled = std::make_shared<std::atomic<bool>>(false);
  const CancelFlag flag = cancelled.cancelled;
  expired.deadline = clock_.Now() + absl::Milliseconds(10);
  scheduler.Submit(std::move(cancelled));
  scheduler.Submit(std::move(expired));
  scheduler.Submit(Request(2));
  flag->store(true, std::memory_order_release);
  clock_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(Ids(scheduler.NextBatch()), ElementsAre("2"));
  EXPECT_THAT(codes_[0], ElementsAre(absl::StatusCode::kCancelled));
  EXPECT_THAT(codes_[1], ElementsAre(absl::StatusCode::kDeadlineExceeded));
}

// Tests that the queue time of two expired requests and one cancelled request is counted.
TEST_F(SchedulerTest, QueueTimeOfRequestsThatDoNotRunIsCounted) {
  Metrics metrics("");
  const auto model = std::make_shared<LoadedModel>();
  model->metrics = metrics.ForModel("m");
  model_ = model;
  Scheduler scheduler({}, clock_, /*sweep=*/false);
  for (int i = 0; i < 4; ++i) {
    InferenceRequest request = Request(i);
    if (i < 2) request.deadline = clock_.Now() + absl::Seconds(2);
    if (i == 2) request.cancelled = std::make_shared<std::atomic<bool>>(true);
    request.is_probe = i == 3;
    scheduler.Submit(std::move(request));
  }
  clock_.Advance(absl::Seconds(2));
  scheduler.Sweep();
  scheduler.Stop(absl::ZeroDuration());
  for (const auto& codes : codes_) EXPECT_EQ(codes.size(), 1U);
  const std::string text = metrics.Text();
  EXPECT_THAT(text,
              HasSubstr("vitrine_stage_duration_seconds_count{model=\"m\",stage=\"queue\",outcome=\"error\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("vitrine_stage_duration_seconds_sum{model=\"m\",stage=\"queue\",outcome=\"error\"} 6\n"));
}

TEST_F(SchedulerTest, StopDrainsTheQueue) {
  Scheduler scheduler({.max_batch_images = 1, .max_wait = absl::Seconds(1)}, clock_, /*sweep=*/false);
  for (int i = 0; i < 3; ++i) scheduler.Submit(Request(i));
  std::thread executor([&] {
    while (std::optional<Batch> batch = scheduler.NextBatch()) {
      for (auto& request : batch->requests) request->Finish(v1::ClassifyResponse());
    }
  });
  scheduler.Stop(absl::Seconds(30));
  executor.join();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(codes_[i], ElementsAre(absl::StatusCode::kOk));
  scheduler.Submit(Request(3));
  EXPECT_THAT(codes_[3], ElementsAre(absl::StatusCode::kUnavailable));
}

TEST_F(SchedulerTest, StopAnswersTheRestAtItsDeadline) {
  Scheduler scheduler({}, clock_, /*sweep=*/false);
  scheduler.Submit(Request(0));
  scheduler.Stop(absl::ZeroDuration());
  EXPECT_THAT(codes_[0], ElementsAre(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(scheduler.NextBatch().has_value());
  EXPECT_EQ(scheduler.depth().requests, 0);
}

// Tests long queues. The scheduler passes only their first requests to Decide. The batches must equal the batches that
// Decide chooses from the whole queue.
TEST_F(SchedulerTest, LongQueuesGiveTheBatchesOfTheWholeQueue) {
  std::mt19937 random(5);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  std::vector<ModelHandle> models;
  for (int i = 0; i < 3; ++i) models.push_back(std::make_shared<LoadedModel>());
  const BatchOptions options = {.max_batch_tokens = 300, .max_batch_images = 7, .max_batch_pixels = 40'000};
  Scheduler scheduler(options, clock_, /*sweep=*/false);
  std::vector<WaitingRequest> mirror;
  for (int i = 0; i < 400; ++i) {
    InferenceRequest request = Request(i, draw(1, 120));
    request.model = models[draw(0, 2)];
    request.geometry.original = {.height = 100, .width = draw(1, 160)};
    request.request.set_priority(static_cast<v1::Priority>(draw(0, 3)));
    if (draw(0, 1) == 0) request.deadline = clock_.Now() + absl::Milliseconds(draw(1, 4000));
    WaitingRequest waiting;
    waiting.sequence = i;
    waiting.model = request.model.get();
    waiting.tokens = request.tokens;
    waiting.pixels = request.InputPixels();
    waiting.priority = ClassOf(request.request.priority());
    waiting.arrival = request.arrival;
    waiting.deadline = request.deadline;
    mirror.push_back(waiting);
    scheduler.Submit(std::move(request));
    clock_.Advance(absl::Milliseconds(3));
  }
  for (;;) {
    const BatchDecision decision = Decide(mirror, clock_.Now(), options);
    if (decision.batch.empty()) break;
    std::vector<std::string> expected;
    for (const size_t i : decision.batch) expected.push_back(std::to_string(mirror[i].sequence));
    ASSERT_EQ(Ids(scheduler.NextBatch()), expected);
    std::vector<WaitingRequest> rest;
    for (const WaitingRequest& waiting : mirror) {
      const bool taken =
          std::find(expected.begin(), expected.end(), std::to_string(waiting.sequence)) != expected.end();
      if (!taken && waiting.deadline > clock_.Now()) rest.push_back(waiting);
    }
    mirror = std::move(rest);
    clock_.Advance(absl::Milliseconds(7));
  }
  scheduler.Sweep();
  EXPECT_EQ(scheduler.depth().requests, 0);
}

// Tests heavy load. Every request must be answered exactly once, and cancelled or expired requests must not be
// computed.
TEST(SchedulerStorm, EveryRequestIsAnsweredExactlyOnce) {
  constexpr int kProducers = 6, kPerProducer = 1500, kExecutors = 3;
  const Clock& clock = SteadyClock();
  Scheduler scheduler({.max_batch_tokens = 200, .max_batch_images = 16}, clock);
  std::vector<ModelHandle> models = {std::make_shared<LoadedModel>(), std::make_shared<LoadedModel>()};
  std::atomic<int> ok = 0, cancelled = 0, late = 0, other = 0, wrong = 0;

  std::vector<std::thread> executors;
  for (int e = 0; e < kExecutors; ++e) {
    executors.emplace_back([&] {
      while (std::optional<Batch> batch = scheduler.NextBatch()) {
        int64_t tokens = 0;
        for (auto& request : batch->requests) {
          tokens += request->tokens;
          if (request->model != batch->requests[0]->model) ++wrong;
        }
        if (tokens > 200 && batch->requests.size() > 1) ++wrong;
        for (auto& request : batch->requests) request->Finish(v1::ClassifyResponse());
      }
    });
  }
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      std::mt19937 random(p);
      for (int i = 0; i < kPerProducer; ++i) {
        InferenceRequest request;
        request.model = models[random() % 2];
        request.tokens = 1 + random() % 90;
        request.arrival = clock.Now();
        if (random() % 3 == 0) request.deadline = request.arrival + absl::Microseconds(random() % 2000);
        request.request.set_priority(static_cast<v1::Priority>(random() % 4));
        const CancelFlag flag = std::make_shared<std::atomic<bool>>(false);
        request.cancelled = flag;
        request.done = [&](absl::StatusOr<v1::ClassifyResponse> answer) {
          switch (answer.status().code()) {
            case absl::StatusCode::kOk:
              ++ok;
              break;
            case absl::StatusCode::kCancelled:
              ++cancelled;
              break;
            case absl::StatusCode::kDeadlineExceeded:
              ++late;
              break;
            default:
              ++other;
          }
        };
        const bool leave = random() % 5 == 0;
        scheduler.Submit(std::move(request));
        if (leave) flag->store(true, std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : producers) thread.join();
  scheduler.Stop(absl::Seconds(30));
  for (std::thread& thread : executors) thread.join();
  EXPECT_EQ(ok + cancelled + late, kProducers * kPerProducer);
  EXPECT_EQ(other, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(ok, 0);
  EXPECT_EQ(scheduler.depth().requests, 0);
}

}  // namespace
}  // namespace vitrine
