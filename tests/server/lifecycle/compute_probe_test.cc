// Readiness proves compute: the probe against a queue whose executor the test plays.
#include "server/lifecycle/compute_probe.h"

#include <gmock/gmock.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/served.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ComputeProbeTest : public ::testing::Test {
 protected:
  ComputeProbe::Parts Parts() {
    return {.models = [this] { return models_; },
            .submit =
                [this](InferenceRequest request) {
                  std::lock_guard lock(mutex_);
                  submitted_.push_back(request.model->id.model);
                  if (broken_.contains(request.model->id.model)) return request.Finish(absl::InternalError("broken"));
                  if (!answer_.has_value()) return kept_.push_back(std::move(request));
                  request.Finish(*answer_);
                },
            .report = [this](const std::string& reason) { reports_.push_back(reason); },
            .fatal = [this] { return lost_; },
            .end = [this] { ++ended_; }};
  }

  FakeClock clock_;
  std::vector<ModelHandle> models_ = {ServedEit(), ServedKv()};
  std::optional<absl::StatusOr<v1::ClassifyResponse>> answer_ = v1::ClassifyResponse();
  std::set<std::string> broken_;  // names of models
  bool lost_ = false;
  int ended_ = 0;
  std::mutex mutex_;
  std::vector<std::string> submitted_, reports_;
  std::vector<InferenceRequest> kept_;
};

TEST_F(ComputeProbeTest, AnEmptyRepositoryHasNothingToProve) {
  models_.clear();
  ComputeProbe probe({}, Parts(), clock_);
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(submitted_, IsEmpty());
}

TEST_F(ComputeProbeTest, TakesTheModelsInTurn) {
  ComputeProbe probe({}, Parts(), clock_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(submitted_, ElementsAre(models_[0]->id.model, models_[1]->id.model, models_[0]->id.model));
  EXPECT_THAT(reports_, ElementsAre("", "", ""));
}

TEST_F(ComputeProbeTest, AFailureIsReportedUntilItIsOver) {
  ComputeProbe probe({}, Parts(), clock_);
  answer_ = absl::InternalError("boom");
  EXPECT_EQ(probe.Try().code(), absl::StatusCode::kInternal);
  answer_ = v1::ClassifyResponse();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("not classified"), ""));
}

TEST_F(ComputeProbeTest, AModelThatFailsIsNotMaskedByOneThatAnswers) {
  ComputeProbe probe({}, Parts(), clock_);
  const std::string first = models_[0]->id.model, second = models_[1]->id.model;
  broken_ = {second};
  EXPECT_TRUE(probe.Try().ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(probe.Try().ok());
  EXPECT_THAT(submitted_, ElementsAre(first, second, second, second)) << "it is tried until it answers";
  EXPECT_THAT(reports_, ElementsAre("", Not(""), Not(""), Not(""))) << "readiness does not flap";
  broken_.clear();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_EQ(reports_.back(), "");
}

TEST_F(ComputeProbeTest, AModelThatFailsAndLeavesIsForgotten) {
  ComputeProbe probe({}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  models_.erase(models_.begin());
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_EQ(reports_.back(), "");
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.Try().ok());
  models_.clear();
  EXPECT_TRUE(probe.Try().ok());
  EXPECT_EQ(reports_.back(), "") << "nothing is left that could fail";
}

TEST_F(ComputeProbeTest, AtTheStartEveryModelIsTried) {
  ComputeProbe probe({}, Parts(), clock_);
  broken_ = {models_[0]->id.model};
  EXPECT_FALSE(probe.TryAll().ok());
  EXPECT_THAT(submitted_, ElementsAre(models_[0]->id.model, models_[1]->id.model));
  EXPECT_THAT(reports_, ElementsAre(Not(""))) << "the second does not take back what is said of the first";
  broken_.clear();
  EXPECT_TRUE(probe.TryAll().ok());
  EXPECT_EQ(reports_.back(), "");
}

TEST_F(ComputeProbeTest, AnAnswerThatDoesNotComeIsAFailureAndMayComeLater) {
  ComputeProbe probe({.timeout = absl::Milliseconds(20)}, Parts(), clock_);
  answer_.reset();
  EXPECT_EQ(probe.Try().code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(kept_.size(), 1u);
  EXPECT_TRUE(kept_[0].IsCancelled()) << "nobody waits for it";
  kept_[0].Finish(v1::ClassifyResponse());
}

TEST_F(ComputeProbeTest, ALostDeviceEndsTheProcessAndASingleFailureDoesNot) {
  ComputeProbe probe({}, Parts(), clock_);
  answer_ = absl::InternalError("boom");
  (void)probe.Try();
  (void)probe.Try();
  EXPECT_EQ(ended_, 0) << "the device is there";
  lost_ = true;
  (void)probe.Try();
  EXPECT_EQ(ended_, 1);
}

TEST_F(ComputeProbeTest, TriesOnlyAfterASilence) {
  ComputeProbe probe({.interval = absl::Seconds(10)}, Parts(), clock_);
  const auto tries = [&] {
    std::lock_guard lock(mutex_);
    return submitted_.size();
  };
  probe.Start();
  clock_.Advance(absl::Seconds(9));
  probe.Succeeded();
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(tries(), 0u);
  clock_.Advance(absl::Seconds(2));
  for (int i = 0; i < 2000 && tries() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(tries(), 1u);
  probe.Stop();
}

}  // namespace
}  // namespace vitrine
