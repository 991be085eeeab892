// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "server/observe/model_metrics.h"
#include "server/registry/settings/serving_rules.h"
#include "tests/server/admin/admin_test.h"

namespace vitrine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Version 1 is stable; version 2 gets a fifth of the requests.
class CanaryWatchTest : public AdminTest {
 protected:
  CanaryWatchTest() {
    goldens_ = [this](const LoadedModel& model) {
      runs_.push_back(model.id.version);
      return drift_;
    };
    files_.Write("serving", R"(models {
      model: 'm'
      version_policy { latest: 2 }
      labels { label: 'stable' version: 1 }
      traffic { version: 2 percent: 20 }
      canary_guard {
        max_error_rate: 0.1 min_requests: 50 window_seconds: 30 max_golden_drift: 0.01 golden_interval_seconds: 10
      } })");
    files_.Add("m", 1);
    files_.Add("m", 2);
    Restart();
  }

  void Answer(int64_t version, int answers, int errors) {
    const ModelHandle model = registry_->Find("m", version).value();
    for (int n = 0; n < answers; ++n) {
      model->version_metrics->requests().Count(
          Method::kClassify, n < errors ? absl::InternalError("") : absl::OkStatus(), absl::ZeroDuration());
    }
  }
  void Compute(int64_t version, int batches, absl::Duration each) {
    const ModelHandle model = registry_->Find("m", version).value();
    for (int b = 0; b < batches; ++b) model->computed->Add(1, each);
  }
  // Advances the clock by a second, then calls Look.
  void Second() {
    clock_.Advance(absl::Seconds(1));
    Look();
  }
  bool CanaryServes() { return registry_->Find("m", 2).ok(); }
  // Returns the number of rollbacks for all causes.
  uint64_t Rollbacks() const {
    uint64_t sum = 0;
    for (int cause = 0; cause < kRollbackCauses; ++cause) {
      sum += files_.MetricsOf("m")->Rollbacks(static_cast<RollbackCause>(cause));
    }
    return sum;
  }

  absl::StatusOr<double> drift_ = 0.0;
  std::vector<int64_t> runs_;
};

TEST_F(CanaryWatchTest, ACanaryWithTooManyErrorsIsRolledBack) {
  Second();
  Answer(2, 60, 6);
  Second();
  EXPECT_TRUE(CanaryServes()) << "a tenth is allowed";
  EXPECT_EQ(Serving().canaries(0).requests(), 60);
  EXPECT_EQ(Serving().canaries(0).errors(), 6);
  EXPECT_EQ(Serving().canaries(0).golden_drift(), -1);
  Answer(2, 2, 2);
  Second();
  EXPECT_FALSE(CanaryServes());
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_THAT(Serving().put_away(0).reason(), HasSubstr("canary guard: 8 of its last 62 answers were errors, 12.9 %"));
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kErrorRate), 1);
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kGoldenDrift), 0);
  registry_->Poll();
  Second();
  EXPECT_FALSE(CanaryServes());
  EXPECT_TRUE(Serving().canaries().empty());
}

TEST_F(CanaryWatchTest, ErrorsOfCallersDoNotCountAgainstTheCanary) {
  Second();
  const ModelHandle model = registry_->Find("m", 2).value();
  for (int n = 0; n < 1000; ++n) {
    for (const absl::StatusCode code : {absl::StatusCode::kInvalidArgument, absl::StatusCode::kDeadlineExceeded,
                                        absl::StatusCode::kCancelled, absl::StatusCode::kResourceExhausted}) {
      model->version_metrics->requests().Count(Method::kClassify, absl::Status(code, ""), absl::ZeroDuration());
    }
  }
  Second();
  EXPECT_TRUE(CanaryServes());
  EXPECT_EQ(Serving().canaries(0).requests(), 0);
}

TEST_F(CanaryWatchTest, OldErrorsAndFewAnswersDoNotCount) {
  Second();
  Answer(2, 49, 49);
  Second();
  EXPECT_TRUE(CanaryServes()) << "49 answers prove nothing";
  for (int second = 0; second < 31; ++second) Second();
  Answer(2, 60, 0);
  Second();
  EXPECT_TRUE(CanaryServes()) << "the errors are older than the window";
}

TEST_F(CanaryWatchTest, TheStableVersionIsNeverRolledBack) {
  Second();
  Answer(1, 1000, 1000);
  Second();
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_EQ(Rollbacks(), 0);
}

TEST_F(CanaryWatchTest, GoldensRunAgainAtTheirInterval) {
  for (int second = 0; second < 35; ++second) Second();
  EXPECT_EQ(runs_.size(), 3u) << "after 11, 21 and 31 seconds";
  EXPECT_THAT(runs_, ::testing::Each(2)) << "of the canary alone";
  EXPECT_EQ(Serving().canaries(0).golden_drift(), 0);
  drift_ = 0.02;
  for (int second = 0; second < 10; ++second) Second();
  EXPECT_FALSE(CanaryServes());
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kGoldenDrift), 1);
}

TEST_F(CanaryWatchTest, ACanaryWithTwiceTheComputeTimeIsRolledBack) {
  Second();
  Compute(1, 200, absl::Milliseconds(10));
  Compute(2, 49, absl::Milliseconds(25));
  Second();
  EXPECT_TRUE(CanaryServes()) << "49 images prove nothing";
  EXPECT_EQ(Serving().canaries(0).compared(), 49);
  EXPECT_NEAR(Serving().canaries(0).compute_ratio(), 2.5, 1e-9);
  Compute(2, 1, absl::Milliseconds(25));
  Second();
  EXPECT_FALSE(CanaryServes());
  EXPECT_THAT(Serving().put_away(0).reason(),
              HasSubstr("canary guard: it needs 2.50 times the stable version's compute time per image, over 50"));
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kSlow), 1);
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kErrorRate), 0);
}

TEST_F(CanaryWatchTest, EqualSlowdownOfBothVersionsDoesNotCountAgainstTheCanary) {
  Second();
  Compute(1, 200, absl::Milliseconds(10));
  Compute(2, 200, absl::Milliseconds(10));
  for (int second = 0; second < 31; ++second) Second();
  EXPECT_EQ(Serving().canaries(0).compared(), 0) << "older than the window";
  Compute(1, 200, absl::Milliseconds(90));
  Compute(2, 200, absl::Milliseconds(100));
  Second();
  EXPECT_TRUE(CanaryServes());
  EXPECT_NEAR(Serving().canaries(0).compute_ratio(), 10 / 9.0, 1e-9);
}

TEST_F(CanaryWatchTest, ComparisonRestartsWithAnotherStableVersion) {
  files_.Add("m", 3);
  registry_->Poll();
  ASSERT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 1")).ok());
  Second();
  Compute(1, 40, absl::Milliseconds(10));
  Compute(2, 40, absl::Milliseconds(25));
  Second();
  EXPECT_EQ(Serving().canaries(0).compared(), 40);
  ASSERT_TRUE(admin_->SetLabel(FromText<v1::SetLabelRequest>("model: 'm' label: 'stable' version: 3")).ok());
  Compute(3, 40, absl::Milliseconds(10));
  Second();
  EXPECT_EQ(Serving().canaries(0).compared(), 0) << "what version 1 computed is no measure any more";
  EXPECT_TRUE(CanaryServes());
}

TEST_F(CanaryWatchTest, FailedGoldensCountAsDrift) {
  drift_ = absl::InternalError("an operator is missing");
  for (int second = 0; second < 12; ++second) Second();
  EXPECT_FALSE(CanaryServes());
}

TEST_F(CanaryWatchTest, GoldensWithoutMemoryAreNotCounted) {
  drift_ = absl::ResourceExhaustedError("out of memory");
  for (int second = 0; second < 12; ++second) Second();
  EXPECT_TRUE(CanaryServes());
  EXPECT_EQ(Serving().canaries(0).golden_drift(), -1);
  drift_ = 0.0;
  for (int second = 0; second < 10; ++second) Second();
  EXPECT_EQ(Serving().canaries(0).golden_drift(), 0);
}

TEST_F(CanaryWatchTest, AReloadedCanaryStartsWithoutEarlierErrors) {
  Second();
  Answer(2, 100, 100);
  Second();
  ASSERT_FALSE(CanaryServes());
  registry_->Poll();
  ASSERT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 2")).ok());
  Second();
  Second();
  EXPECT_TRUE(CanaryServes()) << "the errors of its last life do not count";
}

TEST_F(CanaryWatchTest, AFailedRollbackIsRetried) {
  int asked = 0;
  Second();
  Answer(2, 100, 100);
  for (int second = 0; second < 3; ++second) {
    clock_.Advance(absl::Seconds(1));
    watch_->Look([&](const VersionId&, const std::string&) {
      ++asked;
      return absl::UnavailableError("the state file cannot be written");
    });
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(Rollbacks(), 0);
  Second();
  EXPECT_FALSE(CanaryServes());
}

TEST_F(CanaryWatchTest, ACanaryIsRolledBackWithoutAWritableStateFile) {
  const std::filesystem::path state = files_.folder() / "state", obstacle = files_.folder() / "state.new";
  options_.admin_state = state.string();
  Restart();
  std::filesystem::create_directory(obstacle);
  Second();
  Answer(2, 100, 100);
  Second();
  EXPECT_FALSE(CanaryServes());
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kErrorRate), 1);
  registry_->Poll();
  EXPECT_FALSE(CanaryServes()) << "it holds";
  EXPECT_FALSE(std::filesystem::exists(state));
  EXPECT_FALSE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 2")).ok())
      << "what an operator changes is still refused";
  EXPECT_FALSE(CanaryServes()) << "and takes nothing of it back";
  std::filesystem::remove(obstacle);
  registry_->Poll();
  Restart();
  EXPECT_FALSE(CanaryServes()) << "it was written as soon as there was room, and survives a restart";
}

// The operator promotes the canary after Look has found it bad, but before the rollback.
TEST_F(CanaryWatchTest, AVersionPromotedMeanwhileIsNotRolledBack) {
  Second();
  Answer(2, 100, 100);
  clock_.Advance(absl::Seconds(1));
  watch_->Look([this](const VersionId& id, const std::string& reason) {
    v1::SetLabelRequest promote;
    promote.set_model("m");
    promote.set_label(kStableLabel);
    promote.set_version(2);
    EXPECT_TRUE(admin_->SetLabel(promote).ok());
    const absl::Status done = admin_->RollBackCanary(id, reason);
    EXPECT_EQ(done.code(), absl::StatusCode::kAborted);
    return done;
  });
  EXPECT_EQ(registry_->Find("m").value()->id.version, 2);
  EXPECT_EQ(Rollbacks(), 0);
}

TEST_F(CanaryWatchTest, ABadCanaryLosesItsShareDuringALoad) {
  Second();
  Answer(2, 100, 100);
  files_.slow = {"m", 3};
  files_.Add("m", 3);
  registry_->Start();
  std::jthread change([&] {
    const auto loaded = admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 3"));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  });
  ASSERT_TRUE(Eventually([&] { return files_.loading.load(); }));
  Second();
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 0) << "a look waits for no operator";
  for (int second = 0; second < 100; ++second) Second();
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 0) << "however long ago the window has forgotten why";
  EXPECT_EQ(registry_->Traffic("m").stable, 1);
  EXPECT_THAT(States(*registry_), Contains("m/3 LOADING"));
  files_.Finish();
  change.join();
  Second();
  EXPECT_TRUE(Eventually([&] { return !CanaryServes(); }));
  EXPECT_EQ(Serving().put_away(0).version(), 2);
  ASSERT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 2")).ok());
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 20) << "what is brought back by hand has its share again";
}

// The operator waits for the load of a third model. The canaries belong to the two other models.
TEST_F(CanaryWatchTest, EveryModelIsWatchedDuringALoad) {
  files_.Write("serving", R"(
    models { model: 'm' version_policy { latest: 2 } labels { label: 'stable' version: 1 } traffic { version: 2 percent: 20 } }
    models { model: 'n' version_policy { latest: 2 } labels { label: 'stable' version: 1 } traffic { version: 2 percent: 20 } }
  )");
  for (const int64_t version : {1, 2}) files_.Add("n", version);
  Restart();
  Second();
  files_.slow = {"z", 1};
  files_.Add("z", 1);
  registry_->Start();
  std::jthread change(
      [&] { EXPECT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'z' version: 1")).ok()); });
  ASSERT_TRUE(Eventually([&] { return files_.loading.load(); }));
  for (const char* model : {"m", "n"}) {
    const ModelHandle canary = registry_->Find(model, 2).value();
    for (int n = 0; n < 100; ++n) {
      canary->version_metrics->requests().Count(Method::kClassify, absl::InternalError(""), absl::ZeroDuration());
    }
    Second();
    EXPECT_EQ(registry_->Traffic(model).PercentOf(2), 0) << model;
  }
  files_.Finish();
  change.join();
  Second();
  EXPECT_TRUE(Eventually([&] { return !registry_->Find("m", 2).ok() && !registry_->Find("n", 2).ok(); }));
}

TEST_F(CanaryWatchTest, NoRollbackHappensAfterStop) {
  std::atomic<int> asked = 0;
  Answer(2, 1, 0);
  watch_->Start([&](const VersionId&, const std::string&) {
    ++asked;
    return absl::OkStatus();
  });
  watch_->Stop();
  watch_->Stop();
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace vitrine
