// SPDX-License-Identifier: Apache-2.0
// Operators' changes with real models in a real repository: versions are verified, warmed up and run on their goldens.
#include <gmock/gmock.h>

#include <fstream>

#include "server/admin/admin_service.h"
#include "server/admin/canary_watch.h"
#include "server/observe/metrics.h"
#include "server/registry/model_loader.h"
#include "server/serve/scheduling/batching_policy.h"
#include "tests/read_file.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AdminModelsTest : public ::testing::Test {
 protected:
  AdminModelsTest()
      : loader_(files_.root(), Device{},
                {.metrics = &metrics_, .limits = &limits_, .refused_licences = {"cc-by-nc*"}}) {
    options_.root = files_.root();
    for (uint64_t seed = 1; seed <= 2; ++seed) PublishVersion(files_.root(), "m", SmallNativeConfig(), seed);
  }
  void Open(const std::string& serving) {
    files_.Write("serving", serving);
    options_.serving_config = (files_.folder() / "serving").string();
    settings_ = *ServingSettings::Open(options_.Serving());
    registry_ = std::make_unique<Registry>(
        options_,
        Registry::Parts{.load = [this](const VersionId& id) { return loader_.Load(id); },
                        .bytes_of = [this](const VersionId& id) { return loader_.BytesOf(id); },
                        .settings = settings_.get(),
                        .limits = &limits_},
        clock_);
    watch_ = std::make_unique<CanaryWatch>(*registry_, *settings_, RerunGoldens, clock_);
    admin_ = std::make_unique<AdminService>(*registry_, *settings_, watch_.get());
    registry_->Poll();
  }

  FakeRepository files_;
  FakeClock clock_;
  RegistryOptions options_;
  ModelLimitsTable limits_{BatchOptions().Limits()};
  Metrics metrics_{""};
  ModelLoader loader_;
  std::unique_ptr<ServingSettings> settings_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<CanaryWatch> watch_;
  std::unique_ptr<AdminService> admin_;
};

TEST_F(AdminModelsTest, LoadsUnloadsAndRollsBack) {
  Open("models { model: 'm' limits { max_queued_requests: 9 } }");
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY"));
  const ModelHandle first = registry_->Find("m").value();
  ASSERT_NE(first->queue_limits, nullptr);
  EXPECT_EQ(first->queue_limits->max_requests, 9);
  EXPECT_EQ(loader_.BytesOf({"m", 2}).value(), first->manifest.parameters() * 4);
  ASSERT_TRUE(admin_->RollbackModel(FromText<v1::RollbackModelRequest>("model: 'm'")).ok());
  EXPECT_EQ(metrics_.ForModel("m")->Rollbacks(RollbackCause::kOperator), 1);
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_EQ(registry_->Find("m").value()->queue_limits, first->queue_limits) << "a swap keeps the model's limits";
  ASSERT_TRUE(admin_->UnloadModel(FromText<v1::UnloadModelRequest>("model: 'm'")).ok());
  EXPECT_FALSE(registry_->Find("m").ok());
  ASSERT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 2")).ok());
  EXPECT_EQ(registry_->Find("m").value()->id.version, 2);
}

TEST_F(AdminModelsTest, ADamagedVersionIsNotLoadedByHandEither) {
  Open("");
  std::ofstream(files_.root() / "m" / "1" / "weights.safetensors", std::ios::app) << "x";
  const absl::Status refused = admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 1")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.ToString(), HasSubstr("m/1: weights.safetensors has "));
  EXPECT_EQ(admin_->RollbackModel(FromText<v1::RollbackModelRequest>("model: 'm'")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(registry_->Find("m").value()->id.version, 2);
}

TEST_F(AdminModelsTest, ARefusedLicenceIsNotLoadedByHandEither) {
  Open("");
  const std::string manifest = files_.root() / "m" / "1" / "manifest.textproto";
  auto licensed = FromText<v1::Manifest>(ReadFile(manifest));
  licensed.mutable_provenance()->set_licence("CC-BY-NC-4.0");
  std::ofstream(manifest) << licensed.DebugString();
  const absl::Status refused = admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 1")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  const std::string why = "its licence is CC-BY-NC-4.0, which this server rejects by --refuse-licence cc-by-nc*";
  EXPECT_THAT(refused.ToString(), HasSubstr(why));
  EXPECT_THAT(registry_->Get("m", 1)->reason, HasSubstr(why));
  EXPECT_EQ(registry_->Find("m").value()->id.version, 2);
}

TEST_F(AdminModelsTest, MemoryHasALimit) {
  Open("");
  const int64_t one = registry_->Find("m").value()->device_bytes;
  ASSERT_GT(one, 0);
  Open(absl::StrCat("models { model: 'm' limits { max_memory_bytes: ", 2 * one - 1, " } }"));
  const absl::Status refused = admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 1")).status();
  EXPECT_THAT(refused.ToString(), HasSubstr("exceeds the model's limit"));
  Open(absl::StrCat("models { model: 'm' limits { max_memory_bytes: ", 2 * one, " } }"));
  EXPECT_TRUE(admin_->LoadModel(FromText<v1::LoadModelRequest>("model: 'm' version: 1")).ok());
}

// Weights change in memory after the load, as with a broken memory module.
TEST_F(AdminModelsTest, ACanaryWhoseWeightsDriftIsRolledBack) {
  Open(R"(models {
    model: 'm'
    version_policy { latest: 2 }
    labels { label: 'stable' version: 1 }
    traffic { version: 2 percent: 10 }
    canary_guard { max_golden_drift: 0.001 golden_interval_seconds: 10 } })");
  const auto look = [&] {
    clock_.Advance(absl::Seconds(11));
    watch_->Look([this](const VersionId& id, const std::string& reason) { return admin_->RollBackCanary(id, reason); });
  };
  look();
  look();
  ASSERT_TRUE(registry_->Find("m", 2).ok()) << "a version that is as it was published stays";
  const ModelHandle canary = registry_->Find("m", 2).value();
  EXPECT_LT(RerunGoldens(*canary).value(), 1e-4);
  std::const_pointer_cast<LoadedModel>(canary)->backend =
      MakeLoaded("m", 2, canary->manifest.config(), [](std::vector<float>& weight) {
        for (float& value : weight) value += 1;
      })->backend;
  EXPECT_GT(RerunGoldens(*canary).value(), 0.001);
  look();
  EXPECT_FALSE(registry_->Find("m", 2).ok());
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_EQ(metrics_.ForModel("m")->Rollbacks(RollbackCause::kGoldenDrift), 1);
}

}  // namespace
}  // namespace vitrine
