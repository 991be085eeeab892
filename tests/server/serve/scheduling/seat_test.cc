// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/seat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "common/give_way.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {
namespace {

// A clock that advances by `step` with each call of Now.
class LookedAtClock : public FakeClock {
 public:
  explicit LookedAtClock(absl::Duration step) : step_(step) {}
  absl::Time Now() const override {
    const absl::Time now = FakeClock::Now();
    const_cast<LookedAtClock&>(*this).Advance(step_);
    ++looks_;
    return now;
  }
  int looks() const { return looks_; }

 private:
  const absl::Duration step_;
  mutable std::atomic<int> looks_ = 0;
};

TEST(Seat, TheExecutorWaitsUntilTheStandInIsFinished) {
  LookedAtClock clock(absl::ZeroDuration());
  Seat seat(clock);
  seat.Lend();
  clock.Advance(absl::Seconds(1));
  seat.Begin();
  const int before = clock.looks();
  std::atomic<bool> finished = false;
  std::thread stand_in([&] {
    while (clock.looks() == before) std::this_thread::yield();  // waits until the executor reads the clock
    finished = true;
    seat.Finish();
  });
  {
    const GivingWay giving_way(seat);
    GiveWay();
  }
  EXPECT_TRUE(finished);
  stand_in.join();
  const int after = clock.looks();
  seat.GiveWay();
  GiveWay();
  EXPECT_EQ(clock.looks(), after) << "no stand-in works, and this thread yields no longer";
}

TEST(Seat, TheExecutorKeepsAQuarterOfTheTime) {
  LookedAtClock clock(absl::Milliseconds(1));
  Seat seat(clock);
  seat.Lend();
  seat.Begin();
  absl::Duration ran, waited;
  for (int i = 0; i < 10; ++i) {
    clock.Advance(absl::Milliseconds(2));
    ran += absl::Milliseconds(5);  // 2 ms, and 1 ms for each of three reads of the clock
    const absl::Time before = clock.Now();
    seat.GiveWay();
    waited += clock.Now() - before;
  }
  EXPECT_GE(waited, 2.5 * ran);
  EXPECT_LE(waited, 3.5 * ran);
}

TEST(Seat, TheWaitIsShortAfterALongRun) {
  LookedAtClock clock(absl::Milliseconds(10));
  Seat seat(clock);
  seat.Lend();
  seat.Begin();
  clock.Advance(absl::Hours(1));
  const absl::Time before = clock.Now();
  seat.GiveWay();
  const absl::Duration waited = clock.Now() - before;
  EXPECT_GE(waited, Seat::kLongestWait);
  EXPECT_LE(waited, Seat::kLongestWait + absl::Milliseconds(30));
}

TEST(Seat, AStandInIsNotifiedOfEachLoanAndOfTheEnd) {
  Seat seat(SteadyClock());
  seat.Lend();
  EXPECT_TRUE(seat.AwaitLent());
  EXPECT_TRUE(seat.lent());
  seat.TakeBack();
  EXPECT_FALSE(seat.lent());
  std::thread executor([&] { seat.Lend(); });
  EXPECT_TRUE(seat.AwaitLent());
  executor.join();
  std::thread pool([&] { seat.End(); });
  EXPECT_FALSE(seat.AwaitLent());
  pool.join();
}

// Predicts half a microsecond per pixel and a millisecond per batch.
class QuickBatchTest : public ::testing::Test {
 protected:
  QuickBatchTest() {
    model_->cost->ObserveCompute(10, absl::Milliseconds(1));
    model_->cost->ObserveDecode(2000, absl::Milliseconds(1));
  }
  ~QuickBatchTest() override { scheduler_.Stop(absl::ZeroDuration()); }

  void Submit(int pixels) {
    InferenceRequest request;
    request.model = model_;
    request.tokens = 10;
    request.geometry.original = {1, pixels};
    request.arrival = clock_.Now();
    request.done = [](const absl::StatusOr<v1::ClassifyResponse>&) {};
    scheduler_.Submit(std::move(request));
  }
  static int Pixels(const Batch& batch) { return batch.requests.front()->geometry.original.width; }

  static constexpr int kSlow = 1 << 20;
  FakeClock clock_;
  std::shared_ptr<LoadedModel> model_ = std::make_shared<LoadedModel>();
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
};

TEST_F(QuickBatchTest, LeavesSlowRequestsToTheExecutors) {
  std::atomic<bool> wanted = true;
  Submit(kSlow);
  Submit(100);
  std::optional<Batch> quick = scheduler_.NextQuickBatch(wanted);
  ASSERT_TRUE(quick.has_value());
  EXPECT_EQ(Pixels(*quick), 100);
  EXPECT_FALSE(quick->is_slow);
  std::optional<Batch> slow = scheduler_.NextBatch();
  EXPECT_EQ(Pixels(*slow), kSlow);
  EXPECT_TRUE(slow->is_slow);
  for (Batch* batch : {&*quick, &*slow}) batch->requests.front()->Finish(v1::ClassifyResponse());
}

TEST_F(QuickBatchTest, AStandInReturnsWhenItIsNoLongerNeeded) {
  std::atomic<bool> wanted = true;
  std::optional<Batch> batch = Batch();
  std::thread stand_in([&] { batch = scheduler_.NextQuickBatch(wanted); });
  Submit(kSlow);  // wakes the stand-in, which finds no quick request
  wanted = false;
  scheduler_.WakeStandIns();
  stand_in.join();
  EXPECT_FALSE(batch.has_value());
}

TEST_F(QuickBatchTest, AQuickRequestWakesTheStandIn) {
  std::atomic<bool> wanted = true;
  int pixels = 0;
  std::thread stand_in([&] {
    std::optional<Batch> batch = scheduler_.NextQuickBatch(wanted);
    pixels = Pixels(*batch);
    batch->requests.front()->Finish(v1::ClassifyResponse());
  });
  Submit(100);
  stand_in.join();
  EXPECT_EQ(pixels, 100);
}

}  // namespace
}  // namespace vitrine
