// SPDX-License-Identifier: Apache-2.0
// Tests changes through the Admin service with real models in a repository. Versions are verified, warmed up and run on
// their goldens.
#include <gmock/gmock.h>

#include "server/observe/metrics.h"
#include "server/registry/model_loader.h"
#include "tests/server/admin/admin_test.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

class AdminModelsTest : public AdminTest {
 protected:
  AdminModelsTest() {
    load_ = [this](const VersionId& id) { return loader_.Load(id); };
    sizer_ = [this](const VersionId& id) { return loader_.BytesOf(id); };
    goldens_ = RerunGoldens;
    for (uint64_t seed = 1; seed <= 2; ++seed) PublishVersion(files_.root(), "m", SmallNativeConfig(), seed);
  }
  void Serve(const std::string& serving) {
    files_.Write("serving", serving);
    Restart();
  }

  Metrics metrics_{""};
  ModelLoader loader_{files_.root(), Device{}, {.metrics = &metrics_, .limits = &limits_}};
};

TEST_F(AdminModelsTest, LoadsUnloadsAndRollsBack) {
  Serve("models { model: 'm' limits { max_queued_requests: 9 } }");
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

// Weights change in memory after the load, as with a broken memory module.
TEST_F(AdminModelsTest, ACanaryWhoseWeightsDriftIsRolledBack) {
  Serve(R"(models {
    model: 'm'
    version_policy { latest: 2 }
    labels { label: 'stable' version: 1 }
    traffic { version: 2 percent: 10 }
    canary_guard { max_golden_drift: 0.001 golden_interval_seconds: 10 } })");
  const auto look = [&] {
    clock_.Advance(absl::Seconds(11));
    Look();
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
