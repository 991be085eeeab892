// SPDX-License-Identifier: Apache-2.0
// Tests batches of images from many threads. A batch forms while the device computes. Each thread gets the results of
// its own images. An error affects all images of its batch, but no other batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/small_model.h"

namespace vitrine::testing {
namespace {

using cuda::driver::Card;
using ::testing::HasSubstr;

// A fixture that starts calls in threads while the device is paused.
class CudaBatcher : public SmallCudaModel {
 protected:
  void Start(int images = 3, int slots = 2) {
    backend_.reset();
    card_.reset();
    card_ = NewCard();
    auto made = On(*card_, images, slots);
    ASSERT_TRUE(made.ok()) << made.status();
    backend_ = std::move(made).value();
    launched_before_ = Fake().Calls("cuGraphLaunch");
    copied_before_ = Fake().Calls("cuMemcpyHtoDAsync_v2");
  }
  ~CudaBatcher() override {
    Fake().Pause(false);
    callers_.clear();
    EXPECT_EQ(Fake().faults(), "");
    backend_.reset();
    card_.reset();
  }

  struct Call {
    std::atomic<bool> has_ended = false;
    absl::Status status;
  };
  // Starts a thread that runs these images.
  Call& Begin(std::vector<size_t> which) {
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    callers_.emplace_back([this, &call, which = std::move(which)] {
      call.status = RunBatch(*backend_, which);
      call.has_ended = true;
    });
    return call;
  }
  // Pauses the device and starts a call that is launched, so that the device is busy.
  Call& Occupy() {
    const int64_t launches = Launches(), queries = Fake().Calls("cuEventQuery");
    Fake().Pause(true);
    Call& call = Begin({0});
    AwaitLaunches(launches + 1);
    Await([&] { return Fake().Calls("cuEventQuery") > queries; });
    copied_before_ = Copies();
    joined_ = 0;
    return call;
  }
  // Starts a call, and waits until its images are in a batch.
  Call& Join(std::vector<size_t> which) {
    Call& call = Begin(std::move(which));
    const int64_t joined = ++joined_;
    Await([&] { return Copies() - copied_before_ >= joined; });
    return call;
  }
  void Resume() {
    Fake().Pause(false);
    callers_.clear();
  }

  static void Await(const std::function<bool()>& is_true) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_true() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(is_true());
  }
  void AwaitLaunches(int64_t count) const {
    Await([&] { return Launches() >= count; });
  }
  int64_t Launches() const { return Fake().Calls("cuGraphLaunch") - launched_before_; }
  static int64_t Copies() { return Fake().Calls("cuMemcpyHtoDAsync_v2"); }

  std::unique_ptr<Card> card_;
  std::unique_ptr<const Backend> backend_;

 private:
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::jthread> callers_;
  int64_t launched_before_ = 0, copied_before_ = 0, joined_ = 0;
};

TEST_F(CudaBatcher, ImagesOfManyThreadsGetTheirOwnBits) {
  constexpr int kThreads = 8, kCalls = 100;
  for (const int slots : {1, 2, 3}) {
    Start(/*images=*/8, slots);
    {
      std::vector<std::jthread> threads;
      for (uint64_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([this, thread] {
          std::mt19937_64 random(thread);
          for (int i = 0; i < kCalls; ++i) {
            std::vector<size_t> which(1 + random() % 3);
            for (size_t& image : which) image = random() % images_.size();
            EXPECT_TRUE(RunBatch(*backend_, which).ok());
          }
        });
      }
    }
    EXPECT_LE(Launches(), kThreads * kCalls);
    EXPECT_EQ(card_->activity().counts().batches, Launches());
    EXPECT_EQ(Fake().faults(), "");
  }
}

TEST_F(CudaBatcher, ASingleCallerIsLaunchedAtOnce) {
  Start();
  for (int64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(RunBatch(*backend_, std::vector<size_t>{1}).ok());
    EXPECT_EQ(Launches(), i);
  }
}

TEST_F(CudaBatcher, ABatchFormsWhileTheDeviceIsBusy) {
  Start();
  Occupy();
  Join({1});
  Join({2});
  EXPECT_EQ(Launches(), 1);
  Resume();
  EXPECT_EQ(Launches(), 2);
  const cuda::driver::Activity::Counts counts = card_->activity().counts();
  EXPECT_EQ(counts.batches, 2);
  EXPECT_EQ(counts.images, 3);
  EXPECT_GT(counts.uploaded_bytes, 0);
  EXPECT_GT(counts.busy, absl::ZeroDuration());
}

TEST_F(CudaBatcher, AFullBatchIsLaunchedOnABusyDevice) {
  Start();
  Occupy();
  Join({1});
  Join({2, 3});
  AwaitLaunches(2);
  Call& without_place = Begin({4});
  Resume();
  EXPECT_TRUE(without_place.status.ok()) << without_place.status;
  EXPECT_EQ(Launches(), 3);
}

TEST_F(CudaBatcher, ABatchIsLaunchedIfTheNextCallDoesNotFit) {
  Start();
  Occupy();
  Join({1, 2});
  Call& too_many = Begin({3, 4});
  AwaitLaunches(2);
  EXPECT_FALSE(too_many.has_ended);
  Resume();
  EXPECT_EQ(Launches(), 3);
}

TEST_F(CudaBatcher, BatchesDoNotWaitForACallerWithTaps) {
  Start();
  Fake().Pause(true);
  const int64_t queries = Fake().Calls("cuEventQuery");
  absl::Status alone;
  std::jthread with_tap([&] {
    const size_t which = 1;
    engine::Workspace workspace;
    float logits[kClasses];
    TokenTap tap;
    tap.Request(0);
    alone = backend_->Run(Batch({&which, 1}), workspace, logits, nullptr, &tap);
  });
  Await([&] { return Fake().Calls("cuEventQuery") > queries; });
  EXPECT_EQ(Launches(), 0) << "taps are taken between kernels";
  Begin({2});
  AwaitLaunches(1);
  Resume();
  with_tap.join();
  EXPECT_TRUE(alone.ok()) << alone;
}

TEST_F(CudaBatcher, ATooLargeImageFailsOnlyItsCaller) {
  Start();
  Occupy();
  Call& beside = Join({1});
  const at::Tensor large = RandomImage(3, 16, 16, 1);
  const cuda::ImagePlanes view = View(large);
  engine::Workspace workspace;
  float logits[kClasses];
  const absl::Status status = backend_->Run({&view, 1}, workspace, logits, nullptr, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a batch of 1 images, 64 cells and 768 pixels exceeds"));
  Resume();
  EXPECT_TRUE(beside.status.ok()) << beside.status;
}

TEST_F(CudaBatcher, AnErrorFailsEveryCallerOfItsBatch) {
  for (const char* const call : {"cuGraphLaunch", "cuMemcpyDtoHAsync_v2", "cuEventRecord"}) {
    for (const auto error : {cuda::driver::kOutOfMemory, cuda::driver::kLaunchOutOfResources}) {
      SCOPED_TRACE(absl::StrCat(call, " ", static_cast<int>(error)));
      Start();
      Call& first = Occupy();
      std::vector<Call*> batch = {&Join({1}), &Join({2}), &Join({3})};
      // The batch is full now, so it is launched.
      AwaitLaunches(2);
      Resume();
      EXPECT_TRUE(first.status.ok());
      for (const Call* const each : batch) EXPECT_TRUE(each->status.ok());

      Call& before = Occupy();
      batch = {&Join({1}), &Join({2})};
      Fake().FailNext(call, error, /*sticky=*/false);
      Resume();
      EXPECT_TRUE(before.status.ok()) << before.status;
      for (const Call* const each : batch) {
        EXPECT_EQ(absl::IsResourceExhausted(each->status), error == cuda::driver::kOutOfMemory) << each->status;
        EXPECT_THAT(std::string(each->status.message()), HasSubstr(" failed ("));
      }
      EXPECT_TRUE(RunBatch(*backend_, std::vector<size_t>{4, 5}).ok());
    }
  }
}

TEST_F(CudaBatcher, AFailedCopyFailsOnlyItsBatch) {
  Start();
  Call& first = Occupy();
  Call& second = Join({1});
  Fake().FailNext("cuMemcpyHtoDAsync_v2", cuda::driver::kInvalidValue, /*sticky=*/false);
  Call& third = Join({2});
  Resume();
  EXPECT_TRUE(first.status.ok()) << first.status;
  EXPECT_FALSE(second.status.ok());
  EXPECT_EQ(second.status, third.status);
  EXPECT_EQ(Launches(), 1);
  EXPECT_TRUE(RunBatch(*backend_, std::vector<size_t>{4, 5}).ok());
}

TEST_F(CudaBatcher, ALostDeviceFailsEveryWaitingCaller) {
  Start();
  Occupy();
  Call& second = Join({1});
  Call& third = Join({2});
  Call& without_place = Begin({3, 4});
  AwaitLaunches(2);
  Fake().FailNext("cuEventQuery", cuda::driver::kIllegalAddress, /*sticky=*/true);
  Resume();
  EXPECT_TRUE(card_->lost());
  for (const Call* const each : {&second, &third, &without_place}) {
    EXPECT_THAT(std::string(each->status.message()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  }
  EXPECT_FALSE(RunBatch(*backend_, std::vector<size_t>{5}).ok());
}

}  // namespace
}  // namespace vitrine::testing
