// SPDX-License-Identifier: Apache-2.0
// The probe submits requests to the test, which answers them in place of an executor.
#include "server/serve/request/compute_probe.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A probe whose Tick is called by the test.
class TickingProbe : public ComputeProbe {
 public:
  using ComputeProbe::ComputeProbe;
  using ComputeProbe::Tick;
};

class ComputeProbeTest : public ::testing::Test {
 protected:
  ComputeProbe::Parts Parts() {
    return {.models = [this] { return models_; },
            .submit =
                [this](InferenceRequest request) {
                  std::lock_guard lock(mutex_);
                  submitted_.push_back(request.model->id.model);
                  if (broken_.contains(request.model->id.model)) return request.Finish(absl::InternalError("broken"));
                  if (!answer_.has_value() || stuck_.contains(request.model->id.model))
                    return kept_.push_back(std::move(request));
                  request.Finish(*answer_);
                },
            .report = [this](const ComputeFindings& findings) { last_ = findings; },
            .fatal = [this] { return lost_; },
            .end = [this] { ++ended_; }};
  }

  FakeClock clock_;
  std::vector<ModelHandle> models_ = {ServedEit(), ServedKv()};
  std::optional<absl::StatusOr<v1::ClassifyResponse>> answer_ = v1::ClassifyResponse();
  std::set<std::string> broken_, stuck_;  // names of models
  bool lost_ = false;
  int ended_ = 0;
  std::mutex mutex_;
  std::vector<std::string> submitted_;
  ComputeFindings last_;
  std::vector<InferenceRequest> kept_;
};

TEST_F(ComputeProbeTest, AnEmptyRepositoryPassesWithoutARequest) {
  models_.clear();
  ComputeProbe probe({}, Parts(), clock_);
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(submitted_, IsEmpty());
}

TEST_F(ComputeProbeTest, ProbesTheModelsInTurn) {
  ComputeProbe probe({}, Parts(), clock_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(submitted_, ElementsAre(models_[0]->id.model, models_[1]->id.model, models_[0]->id.model));
  EXPECT_THAT(last_.failing, IsEmpty());
}

TEST_F(ComputeProbeTest, AFailureIsReportedUntilAProbeSucceeds) {
  models_.pop_back();
  ComputeProbe probe({}, Parts(), clock_);
  answer_ = absl::InternalError("boom");
  EXPECT_EQ(probe.Try().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(last_.failing, ElementsAre(models_[0]->id));
  EXPECT_FALSE(last_.stuck) << "an error is an answer";
  answer_ = v1::ClassifyResponse();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(last_.failing, IsEmpty());
}

TEST_F(ComputeProbeTest, AFailingModelIsProbedUntilItAnswers) {
  ComputeProbe probe({}, Parts(), clock_);
  const std::string first = models_[0]->id.model, second = models_[1]->id.model;
  broken_ = {second};
  EXPECT_TRUE(probe.Try().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(probe.Try().ok());
    EXPECT_THAT(last_.failing, ElementsAre(models_[1]->id)) << "not masked by one that answers";
  }
  EXPECT_THAT(submitted_, ElementsAre(first, second, first, second, second));
  broken_.clear();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(last_.failing, IsEmpty());
}

TEST_F(ComputeProbeTest, OtherModelsAreProbedAfterASilenceDespiteAFailure) {
  ComputeProbe probe({.interval = absl::Seconds(10)}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_TRUE(probe.TryUntilOneComputes().ok());
  broken_ = {models_[0]->id.model, models_[1]->id.model};
  (void)probe.Try();
  EXPECT_EQ(last_.failing.size(), 1u) << "the other one has just answered";
  clock_.Advance(absl::Seconds(11));
  (void)probe.Try();
  EXPECT_EQ(last_.failing.size(), 2u);
}

TEST_F(ComputeProbeTest, ARemovedFailingModelIsForgotten) {
  ComputeProbe probe({}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  models_.erase(models_.begin());
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(last_.failing, IsEmpty());
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  models_.clear();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(last_.failing, IsEmpty()) << "nothing is left that could fail";
}

TEST_F(ComputeProbeTest, TheFirstFailureOfAModelProbesAllOthers) {
  models_.push_back(Served("third",
                           "classes: 3 preprocessing { channels: 1 mean: 0.5 std: 0.25 interpolation: BILINEAR "
                           "fixed { height: 8 width: 8 fit: STRETCH } } null {}"));
  const std::string names[] = {models_[0]->id.model, models_[1]->id.model, models_[2]->id.model};
  for (int first = 0; first < 3; ++first) {
    ComputeProbe probe({}, Parts(), clock_);
    for (int turn = 0; turn < first; ++turn) EXPECT_TRUE(probe.Try().ok());
    submitted_.clear();
    broken_ = {names[first]};
    EXPECT_FALSE(probe.Try().ok());
    EXPECT_THAT(submitted_, ElementsAre(names[first], names[first == 0 ? 1 : 0], names[first == 2 ? 1 : 2]));
    broken_.clear();
  }
}

TEST_F(ComputeProbeTest, SendsASmallGreyImageUnderItsOwnName) {
  ComputeProbe probe({.timeout = absl::ZeroDuration()}, Parts(), clock_);
  stuck_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  ASSERT_EQ(kept_.size(), 1u);
  EXPECT_TRUE(kept_[0].is_probe);
  EXPECT_EQ(kept_[0].caller, "vitrine-probe");
  EXPECT_EQ(kept_[0].arrival, clock_.Now());
  EXPECT_EQ(kept_[0].request.model(), models_[0]->id.model);
  EXPECT_EQ(kept_[0].request.priority(), v1::HIGH);
  EXPECT_EQ(kept_[0].input, std::string(32 * 32 * 3, '\x80'));
  for (InferenceRequest& request : kept_) request.Finish(v1::ClassifyResponse());
}

TEST_F(ComputeProbeTest, TheStartProbesModelsUntilOneComputes) {
  ComputeProbe probe({}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_TRUE(probe.TryUntilOneComputes().ok());
  EXPECT_THAT(submitted_, ElementsAre(models_[0]->id.model, models_[1]->id.model));
  EXPECT_THAT(last_.failing, ElementsAre(models_[0]->id));
  broken_.insert(models_[1]->id.model);
  EXPECT_EQ(probe.TryUntilOneComputes().code(), absl::StatusCode::kInternal) << "nothing computes";
  broken_.clear();
  submitted_.clear();
  EXPECT_TRUE(probe.TryUntilOneComputes().ok());
  EXPECT_THAT(submitted_, ElementsAre(models_[0]->id.model));
  EXPECT_THAT(last_.failing, ElementsAre(models_[1]->id)) << "Try probes it again";
}

TEST_F(ComputeProbeTest, AMissingAnswerIsAFailureAndMayComeLater) {
  ComputeProbe probe({.timeout = absl::ZeroDuration()}, Parts(), clock_);
  answer_.reset();
  EXPECT_EQ(probe.Try().code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(kept_.size(), 1u);
  EXPECT_TRUE(kept_[0].IsCancelled()) << "nobody waits for it";
  EXPECT_TRUE(last_.stuck);
  for (InferenceRequest& request : kept_) request.Finish(v1::ClassifyResponse());
}

// A clock that advances by an hour at each call of Now, as after a pause of the whole process.
class PausedClock final : public Clock {
 public:
  absl::Time Now() const override {
    const std::lock_guard lock(mutex_);
    ++looks_;
    looked_.notify_all();
    return absl::UnixEpoch() + looks_ * absl::Hours(1);
  }
  void AwaitLooks(int looks) const {
    std::unique_lock lock(mutex_);
    looked_.wait(lock, [&] { return looks_ >= looks; });
  }
  int looks() const {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable looked_;
  mutable int looks_ = 0;
};

TEST_F(ComputeProbeTest, APauseOfTheProcessDoesNotCountAsAMissingAnswer) {
  const PausedClock clock;
  std::thread executor;
  ComputeProbe::Parts parts = Parts();
  parts.submit = [&](InferenceRequest request) {
    executor = std::thread([&clock, looks = clock.looks(), request = std::move(request)]() mutable {
      clock.AwaitLooks(looks + 2);  // so that the probe has seen the pause while it waits
      request.Finish(v1::ClassifyResponse());
    });
  };
  ComputeProbe probe({.timeout = absl::Seconds(30)}, parts, clock);
  EXPECT_EQ(probe.Try(), absl::OkStatus());
  EXPECT_FALSE(last_.stuck);
  executor.join();
}

TEST_F(ComputeProbeTest, TheStartProbeFailsWhileAnImageIsStuck) {
  ComputeProbe probe({.timeout = absl::ZeroDuration()}, Parts(), clock_);
  stuck_ = {models_[0]->id.model};
  EXPECT_EQ(probe.TryUntilOneComputes().code(), absl::StatusCode::kDeadlineExceeded)
      << "the other model computes on what is left";
  EXPECT_TRUE(last_.stuck);
  broken_ = {models_[0]->id.model};
  stuck_ = {models_[1]->id.model};
  EXPECT_FALSE(probe.TryUntilOneComputes().ok());
  broken_.clear();
  EXPECT_EQ(probe.TryUntilOneComputes().code(), absl::StatusCode::kDeadlineExceeded) << "the other one is still stuck";
  stuck_.clear();
  EXPECT_TRUE(probe.TryUntilOneComputes().ok());
  EXPECT_FALSE(last_.stuck);
  for (InferenceRequest& request : kept_) request.Finish(v1::ClassifyResponse());
}

TEST_F(ComputeProbeTest, OnlyALostDeviceEndsTheProcess) {
  ComputeProbe probe({}, Parts(), clock_);
  answer_ = absl::InternalError("boom");
  (void)probe.Try();
  (void)probe.Try();
  EXPECT_EQ(ended_, 0) << "the device is there";
  lost_ = true;
  (void)probe.Try();
  EXPECT_EQ(ended_, 1);
}

TEST_F(ComputeProbeTest, ADeviceLostDuringTheFirstLoadEndsTheProcess) {
  models_.clear();
  ComputeProbe probe({}, Parts(), clock_);
  lost_ = true;
  (void)probe.TryUntilOneComputes();
  EXPECT_EQ(ended_, 1);
  (void)probe.Try();
  EXPECT_EQ(ended_, 2);
}

// Simulates Parts::fatal, the check for a lost device, on a device that never answers.
struct Hangs {
  ~Hangs() {
    released.Notify();
    if (asked.HasBeenNotified()) left.WaitForNotification();
  }
  bool operator()() {
    asked.Notify();
    released.WaitForNotification();
    left.Notify();
    return false;
  }
  absl::Notification asked, released, left;
};

TEST_F(ComputeProbeTest, AnUnresponsiveDeviceCountsAsLost) {
  Hangs hangs;
  ComputeProbe::Parts parts = Parts();
  parts.fatal = [&] { return hangs(); };
  ComputeProbe probe({.timeout = absl::ZeroDuration()}, parts, clock_);
  answer_ = absl::InternalError("boom");
  (void)probe.Try();
  EXPECT_EQ(ended_, 0);
  (void)probe.Try();
  EXPECT_EQ(ended_, 1);
  hangs.asked.WaitForNotification();
}

TEST_F(ComputeProbeTest, StopDoesNotWaitForAnUnresponsiveDevice) {
  Hangs hangs;
  ComputeProbe::Parts parts = Parts();
  parts.fatal = [&] { return hangs(); };
  ComputeProbe probe({.interval = absl::Milliseconds(100), .timeout = absl::InfiniteDuration()}, parts, clock_);
  models_.pop_back();
  answer_ = absl::InternalError("boom");
  clock_.Advance(absl::Seconds(1));
  probe.Start();
  hangs.asked.WaitForNotification();
  probe.Stop();
  EXPECT_EQ(ended_, 0) << "the process ends by itself";
}

TEST_F(ComputeProbeTest, ProbesOnlyAfterASilence) {
  TickingProbe probe({.interval = absl::Seconds(10)}, Parts(), clock_);
  clock_.Advance(absl::Seconds(9));
  probe.Tick();
  EXPECT_THAT(submitted_, IsEmpty()) << "the start counts as a success";
  probe.Succeeded();
  clock_.Advance(absl::Seconds(9));
  probe.Tick();
  EXPECT_THAT(submitted_, IsEmpty()) << "a request was answered nine seconds ago";
  clock_.Advance(absl::Seconds(1));
  probe.Tick();
  EXPECT_EQ(submitted_.size(), 1u);
  clock_.Advance(absl::Seconds(9));
  probe.Tick();
  EXPECT_EQ(submitted_.size(), 1u) << "its own answer counts too";
}

TEST_F(ComputeProbeTest, AFailingModelIsProbedAtEveryTick) {
  models_.pop_back();
  TickingProbe probe({.interval = absl::Seconds(10)}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  probe.Succeeded();
  probe.Tick();
  EXPECT_EQ(submitted_.size(), 2u) << "not only after a silence";
}

TEST_F(ComputeProbeTest, ProbesPeriodicallyBetweenStartAndStop) {
  ComputeProbe probe({.interval = absl::Milliseconds(100)}, Parts(), clock_);
  const auto tries = [&] {
    std::lock_guard lock(mutex_);
    return submitted_.size();
  };
  clock_.Advance(absl::Seconds(1));
  probe.Start();
  for (int i = 0; i < 2000 && tries() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  probe.Stop();
  EXPECT_EQ(tries(), 1u);
}

}  // namespace
}  // namespace vitrine
