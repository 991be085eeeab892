// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "server/registry/settings/serving_rules.h"
#include "tests/server/admin/admin_service_fixture.h"

namespace vitrine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(AdminServiceTest, LoadsAVersionInAdditionToThePolicy) {
  ASSERT_TRUE(Load("model: 'm' version: 1").ok());
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY"));
  EXPECT_EQ(Stable(), 3);
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY"));
}

TEST_F(AdminServiceTest, AFailedLoadGivesTheReasonAndChangesNothing) {
  const std::string before = Settings();
  const absl::Status missing = Load("model: 'm' version: 9");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.ToString(), HasSubstr("has no version 9"));
  files_.bad.insert({"m", 2});
  const absl::Status refused = Load("model: 'm' version: 2");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.ToString(), HasSubstr("weights.safetensors of 2"));
  EXPECT_EQ(Settings(), before);
  EXPECT_EQ(Load("model: 'm' version: 0").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Load("model: '../m'").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Load("model: 'n'").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Load("model: 'n' version: 1").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(settings_->Models(), IsEmpty());
  files_.bad.clear();
  EXPECT_TRUE(Load("model: 'm' version: 2").ok()) << "a load that is asked for does not wait for the backoff";
}

TEST_F(AdminServiceTest, TrafficCanBeMovedToACanaryAndBack) {
  const auto change = Traffic("model: 'm' shares { version: 3 percent: 5 }");
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition) << "nobody would take the rest";
  ASSERT_TRUE(Load("model: 'm' version: 2").ok());
  const auto divided = Traffic("model: 'm' shares { version: 3 percent: 5 }");
  ASSERT_TRUE(divided.ok()) << divided.status();
  EXPECT_EQ(divided->serving().stable_version(), 2);
  EXPECT_THAT(divided->notes(), ElementsAre(HasSubstr("version 2 got the label stable"),
                                            HasSubstr("version 3: the canary guard watches it")));
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 5);
  EXPECT_EQ(Serving().versions(1).version_labels(0), "canary");
  const auto both = Traffic("model: 'm' shares { version: 2 percent: 95 } shares { version: 3 percent: 5 }");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->notes(), ElementsAre(HasSubstr("version 3: the canary guard watches it")))
      << "nobody watches the stable version";
  const auto dropped = Traffic("model: 'm' shares { version: 2 percent: 5 }");
  EXPECT_EQ(dropped.status().ToString(),
            "INVALID_ARGUMENT: traffic: version 2 is stable, which gets what the other shares leave, 100 %; give the "
            "share to another version");

  // The canary loses its share of the requests and does not become the serving version.
  ASSERT_TRUE(Traffic("model: 'm'").ok());
  EXPECT_EQ(Stable(), 2);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 0);

  // Promotes the canary to all traffic.
  ASSERT_TRUE(Traffic("model: 'm' shares { version: 3 percent: 50 }").ok());
  const auto promoted = Label("stable", 3);
  ASSERT_TRUE(promoted.ok()) << promoted.status();
  EXPECT_EQ(Stable(), 3);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 100);
  EXPECT_TRUE(promoted->serving().serving().traffic().empty());
}

TEST_F(AdminServiceTest, TheServingVersionKeepsTheRestOfTheTraffic) {
  files_.labels[{"m", 4}] = {"other"};
  files_.Add("m", 4);
  Poll();
  ASSERT_THAT(States(*registry_), ElementsAre("m/3 READY", "m/4 READY"));
  ASSERT_EQ(Stable(), 3) << "4 waits";
  const auto divided = Traffic("model: 'm' shares { version: 2 percent: 5 }");
  ASSERT_TRUE(divided.ok()) << divided.status();
  EXPECT_EQ(Stable(), 3);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 5);
  EXPECT_TRUE(settings_->Plan("m").changed.loaded().empty()) << "the share keeps it";
}

TEST_F(AdminServiceTest, AVersionWithOtherClassesCannotBeACanary) {
  files_.labels[{"m", 1}] = {"other"};
  const std::string before = Settings();
  double most = 0;
  const uint64_t listener =
      registry_->Subscribe([&](const v1::ModelEvent&) { most = std::max(most, registry_->Traffic("m").PercentOf(1)); });
  EXPECT_THAT(Traffic("model: 'm' shares { version: 1 percent: 5 }").status().ToString(),
              HasSubstr("cannot be a canary: it has 1 classes instead of 0"));
  registry_->Unsubscribe(listener);
  EXPECT_EQ(most, 0) << "not while it was loaded either";
  EXPECT_EQ(Settings(), before);
  ASSERT_TRUE(Load("model: 'm' version: 1").ok());
  EXPECT_THAT(Label("canary", 1).status().ToString(), HasSubstr("cannot be a canary"));
  EXPECT_TRUE(Label("blue", 1).ok());
}

TEST_F(AdminServiceTest, SharesOfVersionsThatCannotServeAreRefused) {
  files_.bad.insert({"m", 1});
  const std::string before = Settings();
  EXPECT_THAT(Traffic("model: 'm' shares { version: 1 percent: 5 }").status().ToString(),
              HasSubstr("weights.safetensors of 1"));
  EXPECT_EQ(Traffic("model: 'm' shares { version: 9 percent: 5 }").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Traffic("model: 'm' shares { version: 2 percent: 101 }").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Traffic("model: 'm' shares { version: 0 percent: 1 }").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Settings(), before);
}

TEST_F(AdminServiceTest, LabelsAreSetOnReadyVersionsAndCleared) {
  EXPECT_EQ(Label("blue", 9).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Label("Blue", 3).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Label("blue", 3).ok());
  EXPECT_EQ(registry_->Route("m", {.version = {}, .label = "blue", .request_id = ""}).value()->id.version, 3);
  v1::ClearLabelRequest clear;
  clear.set_model("m");
  clear.set_label("blue");
  ASSERT_TRUE(admin_->ClearLabel(clear).ok());
  EXPECT_FALSE(registry_->Route("m", {.version = {}, .label = "blue", .request_id = ""}).ok());
  EXPECT_EQ(admin_->ClearLabel(clear).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(settings_->Models(), IsEmpty()) << "nothing is left of it";
}

TEST_F(AdminServiceTest, ALabelLoadsItsVersion) {
  ASSERT_FALSE(registry_->Find("m", 2).ok());
  const auto change = Label("blue", 2);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(registry_->Route("m", {.version = {}, .label = "blue", .request_id = ""}).value()->id.version, 2);
  EXPECT_EQ(registry_->Traffic("m").stable, 3) << "the others' requests stay where they were";
  ASSERT_TRUE(Label("stable", 1).ok()) << "back to a version that is not in memory";
  EXPECT_EQ(registry_->Traffic("m").stable, 1);
  files_.bad.insert({"m", 4});
  files_.Add("m", 4);
  EXPECT_FALSE(Label("blue", 4).ok());
  EXPECT_EQ(registry_->Route("m", {.version = {}, .label = "blue", .request_id = ""}).value()->id.version, 2);
}

TEST_F(AdminServiceTest, LabellingANewerVersionKeepsTheServingVersionStable) {
  v1::SetVersionPolicyRequest policy;
  policy.set_model("m");
  policy.mutable_policy()->mutable_specific()->add_versions(2);
  ASSERT_TRUE(admin_->SetVersionPolicy(policy).ok());
  ASSERT_EQ(Stable(), 2);
  const auto change = Label("blue", 3);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Stable(), 2);
  EXPECT_THAT(change->notes(), ElementsAre(HasSubstr("version 2 got the label stable")));
}

TEST_F(AdminServiceTest, LabellingAWaitingVersionKeepsTheServingVersionStable) {
  files_.Write("serving", "models { model: 'm' canary_guard { allow_other_labels: true } }");
  files_.labels[{"m", 4}] = {"other"};
  files_.Add("m", 4);
  Poll();
  ASSERT_EQ(Stable(), 3) << "4 waits";
  const auto change = Label("canary", 4);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Stable(), 3) << "a canary gets only requests that name it";
  EXPECT_THAT(change->notes(), Contains(HasSubstr("version 3 got the label stable")));
}

TEST_F(AdminServiceTest, TheServingVersionCannotBeACanary) {
  EXPECT_THAT(Label("canary", 3).status().ToString(), HasSubstr("serves the requests, so it cannot be a canary"));
  ASSERT_TRUE(Label("canary", 2).ok());
  EXPECT_EQ(Stable(), 3);
}

TEST_F(AdminServiceTest, ALabelFromTheSettingsFileCanBeCleared) {
  files_.Write("serving", "models { model: 'm' labels { label: 'blue' version: 3 } }");
  Restart();
  v1::ClearLabelRequest clear;
  clear.set_model("m");
  clear.set_label("blue");
  ASSERT_TRUE(admin_->ClearLabel(clear).ok());
  EXPECT_EQ(LabelledVersion(Serving().serving(), "blue"), 0);
  Restart();
  EXPECT_EQ(LabelledVersion(Serving().serving(), "blue"), 0);
  v1::ResetServingRequest reset;
  reset.set_model("m");
  ASSERT_TRUE(admin_->ResetServing(reset).ok());
  EXPECT_EQ(LabelledVersion(Serving().serving(), "blue"), 3) << "the file holds again";
}

TEST_F(AdminServiceTest, SettingsOfAModelWithoutAFolderCanBeReset) {
  files_.Add("n", 1);
  Poll();
  ASSERT_TRUE(Unload("model: 'm'").ok());
  ASSERT_TRUE(Unload("model: 'n'").ok());
  std::filesystem::remove_all(files_.root() / "n");
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    const auto serving = admin_->GetServing(FromText<v1::GetServingRequest>("model: 'n'"));
    ASSERT_TRUE(serving.ok()) << serving.status();
    EXPECT_TRUE(serving->models(0).unloaded());
  }
  v1::ResetServingRequest reset;
  reset.set_model("n");
  EXPECT_TRUE(admin_->ResetServing(reset).ok());
  EXPECT_THAT(settings_->Models(), ElementsAre("m"));
  const absl::Status unknown = admin_->ResetServing(reset).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(unknown.message()), "there is no model \"n\"") << "no other is named";
}

// A label may remain after its model or version is gone.
TEST_F(AdminServiceTest, ALabelOfADeletedModelCanBeReset) {
  ASSERT_TRUE(Label("blue", 3).ok());
  std::filesystem::remove_all(files_.root() / "m");
  Restart();
  ASSERT_THAT(settings_->Models(), ElementsAre("m"));
  v1::ResetServingRequest reset;
  reset.set_model("m");
  EXPECT_TRUE(admin_->ResetServing(reset).ok());
  EXPECT_THAT(settings_->Models(), IsEmpty());
}

TEST_F(AdminServiceTest, VersionPoliciesTakeEffectAtOnce) {
  ASSERT_TRUE(admin_->SetVersionPolicy(FromText<v1::SetVersionPolicyRequest>("model: 'm' policy { latest: 2 }")).ok());
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY", "m/3 READY"));
  const auto missing = admin_->SetVersionPolicy(
      FromText<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: [1, 9] } }"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY", "m/3 READY")) << "the policy before holds on";
  std::vector<std::string> events;
  const uint64_t listener = registry_->Subscribe([&](const v1::ModelEvent& event) {
    events.push_back(absl::StrCat(event.version().version(), " ", v1::ModelState_Name(event.version().state())));
  });
  events.clear();
  const auto refused = admin_->SetVersionPolicy(
      FromText<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: [2, 9] } }"));
  registry_->Unsubscribe(listener);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("has no version 9"));
  EXPECT_THAT(events, IsEmpty()) << "a rejected change removes no version, not even for a moment";
  EXPECT_EQ(admin_->SetVersionPolicy(FromText<v1::SetVersionPolicyRequest>("model: 'm'")).status().code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(
      admin_->SetVersionPolicy(FromText<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: 1 } }"))
          .ok());
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY")) << "a missing version is loaded for it";
  EXPECT_TRUE(settings_->Plan("m").changed.labels().empty());
}

TEST_F(AdminServiceTest, GetServingReportsSettingsAndTheirOrigin) {
  options_.max_memory_bytes = 1000;
  Restart();
  const auto all = admin_->GetServing({});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->models_size(), 1);
  EXPECT_EQ(all->memory_bytes(), 100);
  EXPECT_EQ(all->max_memory_bytes(), 1000);
  EXPECT_EQ(all->models(0).memory_bytes(), 100);
  EXPECT_EQ(all->models(0).serving().version_policy().latest(), 1);
  EXPECT_FALSE(all->models(0).changed_by_admin());
  EXPECT_EQ(admin_->GetServing(FromText<v1::GetServingRequest>("model: 'n'")).status().code(),
            absl::StatusCode::kNotFound);
}

// Several threads make all kinds of changes while requests are routed. Some version must always serve.
TEST_F(AdminServiceTest, SomeVersionAlwaysServesDuringConcurrentChanges) {
  std::atomic<bool> stop = false;
  std::atomic<int> missing = 0, found = 0;
  std::thread reader([&] {
    for (int n = 0; !stop.load(std::memory_order_relaxed); ++n) {
      const auto model = registry_->Route("m", {.version = {}, .label = "", .request_id = absl::StrCat(n)});
      model.ok() ? ++found : ++missing;
    }
  });
  std::vector<std::thread> operators;
  for (int t = 0; t < 3; ++t) {
    operators.emplace_back([&, t] {
      for (int n = 0; n < 40; ++n) {
        const int64_t version = 1 + (n + t) % 3;
        const std::string of = absl::StrCat("model: 'm' version: ", version);
        // Some of these changes are refused, depending on the changes of the other threads.
        switch ((n * 7 + t) % 5) {
          case 0:
            Load(of).IgnoreError();
            break;
          case 1:
            RollBack("model: 'm'").status().IgnoreError();
            break;
          case 2:
            Unload(of).IgnoreError();
            break;
          case 3:
            Traffic(absl::StrCat("model: 'm' shares { version: ", version, " percent: 40 }")).status().IgnoreError();
            break;
          default:
            Label("stable", version).status().IgnoreError();
        }
      }
    });
  }
  for (std::thread& thread : operators) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(missing, 0);
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace vitrine
