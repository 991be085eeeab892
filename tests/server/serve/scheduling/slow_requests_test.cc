// SPDX-License-Identifier: Apache-2.0
// Tests that threads for slow requests take only slow requests, and threads for quick requests take only quick
// requests.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/serve/scheduling/scheduler.h"

namespace vitrine {
namespace {

// Provides a model with a predicted time of half a microsecond per pixel and a millisecond per batch.
class SlowRequestsTest : public ::testing::Test {
 protected:
  SlowRequestsTest() {
    model_->cost->ObserveCompute(10, absl::Milliseconds(1));
    model_->cost->ObserveDecode(2000, absl::Milliseconds(1));
  }
  ~SlowRequestsTest() override { scheduler_.Stop(absl::ZeroDuration()); }

  void Submit(int pixels) {
    InferenceRequest request;
    request.model = model_;
    request.tokens = 10;
    request.geometry.original = {1, pixels};
    request.arrival = clock_.Now();
    request.done = [](const absl::StatusOr<v1::ClassifyResponse>&) {};
    scheduler_.Submit(std::move(request));
  }
  // Answers the next batch of `work` and returns the number of pixels of its first image; 0 after Stop.
  int Next(BatchKind work) {
    std::optional<Batch> batch = scheduler_.NextBatch(work);
    if (!batch.has_value()) return 0;
    const int pixels = batch->requests.front()->geometry.original.width;
    EXPECT_EQ(batch->is_slow, pixels >= kSlow);
    for (const auto& request : batch->requests) request->Finish(v1::ClassifyResponse());
    return pixels;
  }

  static constexpr int kSlow = 1 << 20;
  FakeClock clock_;
  std::shared_ptr<LoadedModel> model_ = std::make_shared<LoadedModel>();
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
};

TEST_F(SlowRequestsTest, EachThreadTakesOnlyItsWork) {
  Submit(kSlow);
  Submit(100);
  Submit(kSlow + 1);
  EXPECT_EQ(Next(BatchKind::kQuick), 100);
  EXPECT_EQ(Next(BatchKind::kSlow), kSlow);
  EXPECT_EQ(Next(BatchKind::kAll), kSlow + 1);
}

TEST_F(SlowRequestsTest, ARequestWakesTheThreadThatTakesIt) {
  for (const auto& [work, pixels] : {std::pair{BatchKind::kSlow, kSlow}, {BatchKind::kQuick, 100}}) {
    int taken = 0;
    std::thread thread([&, work = work] { taken = Next(work); });
    Submit(work == BatchKind::kSlow ? 100 : kSlow);  // a request of the other kind
    Submit(pixels);
    thread.join();
    EXPECT_EQ(taken, pixels);
    EXPECT_EQ(Next(BatchKind::kAll), work == BatchKind::kSlow ? 100 : kSlow);
  }
}

// An executor does not join a team while its second thread runs a slow request, because both threads use the same core.
TEST(SlowRequests, ExecutorsHelpOnlyWhileTheirSecondThreadsWait) {
  Scheduler scheduler({.executors = 2, .slow_apart = true}, SteadyClock(), /*sweep=*/false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { scheduler.NextBatch(BatchKind::kQuick); });
  while (scheduler.idle() < 2) std::this_thread::yield();
  EXPECT_EQ(scheduler.SendToTeam(nullptr, 2), 0) << "no second thread waits";
  threads.emplace_back([&] { scheduler.NextBatch(BatchKind::kSlow); });
  int64_t sent = 0;
  while (sent == 0) sent = scheduler.SendToTeam(nullptr, 2);
  EXPECT_EQ(sent, 1);
  scheduler.Stop(absl::ZeroDuration());
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SlowRequestsTest, ADrainWaitsForSlowRequestsAndEndsTheirThreads) {
  Submit(kSlow);
  Submit(100);
  std::thread stop([&] { scheduler_.Stop(absl::Minutes(1)); });
  std::thread slow([&] {
    EXPECT_EQ(Next(BatchKind::kSlow), kSlow);
    EXPECT_EQ(Next(BatchKind::kSlow), 0) << "ends once the quick request is taken";
  });
  EXPECT_EQ(Next(BatchKind::kQuick), 100);
  EXPECT_EQ(Next(BatchKind::kQuick), 0);
  slow.join();
  stop.join();
}

}  // namespace
}  // namespace vitrine
