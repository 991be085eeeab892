// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/executor.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "server/observe/metrics.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(ExecutorPool, AnswersEveryRequestAndStops) {
  constexpr int kRequests = 60;
  const ModelHandle model = MakeLoaded("small", 1, SmallNativeConfig());
  const Responder responder = [](const InferenceRequest&, const InferenceOutput&) { return v1::ClassifyResponse(); };
  std::atomic<int> ok = 0;
  {
    Scheduler scheduler({}, SteadyClock());
    const ExecutorOptions options{.device = {}, .threads = 2, .log_batches = true};
    ASSERT_TRUE(options.Validate().ok());
    ExecutorPool pool(options, scheduler, responder, SteadyClock());
    EXPECT_EQ(pool.threads(), 2);
    Answer unused;
    for (int i = 0; i < kRequests; ++i) {
      InferenceRequest request = ImageRequest(model, NoisePng(8 + 4 * (i % 6), 16, i), unused);
      request.arrival = SteadyClock().Now();
      request.done = [&](absl::StatusOr<v1::ClassifyResponse> answer) { ok += answer.ok(); };
      scheduler.Submit(std::move(request));
    }
    scheduler.Stop(absl::Seconds(60));
  }
  EXPECT_EQ(ok, kRequests);
}

TEST(ExecutorPool, ExecutorsTreatDenormalsAsZero) {
  const ModelHandle model = MakeLoaded("null", 1, NullConfig());
  const auto half_of_the_smallest = [] {
    volatile float smallest = std::numeric_limits<float>::min();
    return smallest / 2;
  };
  std::atomic<float> halved = -1;
  const Responder responder = [&](const InferenceRequest&, const InferenceOutput&) {
    halved = half_of_the_smallest();
    return v1::ClassifyResponse();
  };
  Answer answer;
  {
    Scheduler scheduler({}, SteadyClock());
    ExecutorPool pool({.device = {}, .threads = 1}, scheduler, responder, SteadyClock());
    scheduler.Submit(ImageRequest(model, NoisePng(8, 8, 1), answer));
    scheduler.Stop(absl::Seconds(60));
  }
  EXPECT_EQ(halved, 0.0F);
  EXPECT_GT(half_of_the_smallest(), 0.0F) << "the setting applies to executors only";
}

// Makes both executors compute at the same time, so that each computes one batch.
TEST(ExecutorPool, BatchesOfEveryExecutorAreCounted) {
  Metrics metrics("");
  const std::shared_ptr<LoadedModel> model = MakeLoaded("null", 1, NullConfig());
  model->metrics = metrics.ForModel("null");
  std::atomic<int> under_way = 0;
  const Responder responder = [&](const InferenceRequest&, const InferenceOutput&) {
    ++under_way;
    while (under_way < 2) std::this_thread::yield();
    return v1::ClassifyResponse();
  };
  Answer answers[2];
  {
    Scheduler scheduler({.max_batch_images = 1}, SteadyClock());
    ExecutorPool pool({.device = {}, .threads = 2}, scheduler, responder, SteadyClock());
    for (Answer& answer : answers) scheduler.Submit(ImageRequest(model, NoisePng(8, 8, 1), answer));
    scheduler.Stop(absl::Seconds(60));
  }
  EXPECT_EQ(model->metrics->Totals().batches, 2U);
}

// Submits an image with a predicted time of 100 ms to the only executor. The answer for this image is made only after
// the quick images were answered.
TEST(ExecutorPool, QuickImagesAreAnsweredDuringASlowOne) {
  constexpr int kQuick = 3;
  Metrics metrics("");
  const std::shared_ptr<LoadedModel> model = MakeLoaded("small", 1, SmallNativeConfig());
  model->metrics = metrics.ForModel("small");
  model->cost->ObserveCompute(4, absl::Milliseconds(1));
  model->cost->ObserveDecode(512 * 512, absl::Milliseconds(100));
  std::promise<void> slow_begins, quick_answered;
  int slow_niceness = 0;
  const Responder responder = [&](const InferenceRequest& request, const InferenceOutput&) {
    if (request.geometry.original.width == 512) {
      slow_niceness = getpriority(PRIO_PROCESS, 0);
      slow_begins.set_value();
      EXPECT_EQ(quick_answered.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    }
    return v1::ClassifyResponse();
  };
  Answer slow, quick[kQuick];
  std::atomic<int> left = kQuick;
  {
    Scheduler scheduler({}, SteadyClock());
    ExecutorPool pool({.device = {}, .threads = 1}, scheduler, responder, SteadyClock());
    const auto submit = [&](int side, Answer& answer) {
      InferenceRequest request = ImageRequest(model, NoisePng(side, side, 1), answer);
      request.arrival = SteadyClock().Now();
      return request;
    };
    scheduler.Submit(submit(512, slow));
    slow_begins.get_future().wait();
    for (Answer& answer : quick) {
      InferenceRequest request = submit(16, answer);
      request.done = [&](absl::StatusOr<v1::ClassifyResponse> result) {
        answer.result = std::move(result);
        if (--left == 0) quick_answered.set_value();
      };
      scheduler.Submit(std::move(request));
    }
    scheduler.Stop(absl::Seconds(60));
    EXPECT_EQ(slow_niceness, std::min(getpriority(PRIO_PROCESS, 0) + ExecutorPool::kSlowNiceness, 19));
    EXPECT_EQ(pool.Status().size(), 1U);
    EXPECT_GE(pool.Status()[0].batches, 2U) << "slow batches count too";
  }
  EXPECT_TRUE(slow.result.ok()) << slow.result.status();
  for (const Answer& answer : quick) EXPECT_TRUE(answer.result.ok()) << answer.result.status();
  EXPECT_THAT(metrics.Text(), HasSubstr("vitrine_batch_images_sum{model=\"small\"} 4\n")) << "slow images count too";
}

// Uses real threads, a fake clock, and a responder that does not return before the test allows it.
TEST(ExecutorPool, TheWatchdogReportsTheAgeOfAHangingBatch) {
  const ModelHandle model = MakeLoaded("null", 1, NullConfig());
  FakeClock clock;
  std::promise<void> running, release;
  const Responder responder = [&](const InferenceRequest&, const InferenceOutput&) {
    running.set_value();
    release.get_future().wait();
    return v1::ClassifyResponse();
  };
  std::atomic<int64_t> longest_seconds = 0;
  const auto hears = [&](int64_t seconds) {
    while (longest_seconds != seconds) std::this_thread::yield();
  };
  Answer answer;
  {
    Scheduler scheduler({}, clock, /*sweep=*/false);
    const ExecutorOptions options{.device = {}, .threads = 2};
    ExecutorPool pool(options, scheduler, responder, clock,
                      [&](absl::Duration longest) { longest_seconds = absl::ToInt64Seconds(longest); });
    scheduler.Submit(ImageRequest(model, NoisePng(8, 8, 1), answer));
    running.get_future().wait();
    clock.Advance(absl::Seconds(100));
    hears(100);
    clock.Advance(absl::Seconds(30));
    hears(130);
    release.set_value();
    hears(0);
    scheduler.Stop(absl::Seconds(1));
  }
  EXPECT_TRUE(answer.result.ok()) << answer.result.status();
}

TEST(ExecutorOptions, ErrorsNameTheFieldAndTheRange) {
  EXPECT_THAT((ExecutorOptions{.device = {}, .threads = -1}).Validate().ToString(),
              HasSubstr("--executors is -1; it must be 0"));
  EXPECT_GE(ExecutorOptions{}.ThreadCount(), 1);
  EXPECT_EQ((ExecutorOptions{.device = {Device::Kind::kCuda, 0}, .threads = 8}.ThreadCount()), 8);
  EXPECT_EQ((ExecutorOptions{.device = {Device::Kind::kCuda, 0}, .threads = 8}.SlowThreadCount()), 0);
  EXPECT_EQ((ExecutorOptions{.device = {}, .threads = 8}.SlowThreadCount()), 8);
}

}  // namespace
}  // namespace vitrine
