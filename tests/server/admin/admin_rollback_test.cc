// SPDX-License-Identifier: Apache-2.0
// Tests rollbacks and unloading by operators, and their record in the state file.
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/server/admin/admin_service_fixture.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(AdminServiceTest, ARollbackReasonMustBeShortUtf8) {
  v1::RollbackModelRequest request;
  request.set_model("m");
  for (const std::string& bad : {std::string(201, 'x'), std::string("\xff")}) {
    request.set_reason(bad);
    EXPECT_EQ(admin_->RollbackModel(request).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(Stable(), 3);
  request.set_reason(std::string(200, 'x'));
  const auto change = admin_->RollbackModel(request);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->serving().put_away(0).reason(), request.reason());
}

TEST_F(AdminServiceTest, RollsBackToThePreviousVersion) {
  absl::StatusOr<v1::ServingChange> change;
  const std::string log = Logged("warning", "json", [&] { change = RollBack("model: 'm' reason: 'wrong colours'"); });
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_THAT(log, HasSubstr(R"("message":"version put away","model":"m","version":3,"reason":"wrong colours",)"
                             R"("serving_version":2})"));
  EXPECT_EQ(change->serving().stable_version(), 2);
  EXPECT_EQ(change->serving().put_away(0).reason(), "wrong colours");
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY")) << "it does not come back by the next poll";
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  EXPECT_EQ(Stable(), 1);
  const auto last = RollBack("model: 'm'");
  EXPECT_EQ(last.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(last.status().ToString(), HasSubstr("no version before it"));
  EXPECT_EQ(Stable(), 1);
  EXPECT_EQ(files_.MetricsOf("m")->Rollbacks(RollbackCause::kOperator), 2);
  files_.Add("m", 4);
  Poll();
  EXPECT_EQ(Stable(), 4) << "what is published afterwards serves";
  ASSERT_TRUE(Load("model: 'm' version: 2").ok()) << "and what was put away comes back when it is asked for";
  EXPECT_TRUE(registry_->Find("m", 2).ok());
}

TEST_F(AdminServiceTest, ARollbackSkipsVersionsThatCannotBeLoaded) {
  files_.bad.insert({"m", 2});
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  EXPECT_EQ(Stable(), 1);
}

TEST_F(AdminServiceTest, ARollbackNotesThatTheClassesDiffer) {
  files_.labels[{"m", 2}] = {"other"};
  const auto differs = RollBack("model: 'm'");
  ASSERT_TRUE(differs.ok()) << differs.status();
  EXPECT_THAT(differs->notes(), ElementsAre("version 2 serves with other classes: it has 1 classes instead of 0 "
                                            "compared with version 3"));
  files_.labels[{"m", 1}] = {"other"};
  const auto same = RollBack("model: 'm'");
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(same->notes(), IsEmpty());
}

// While the replacement loads slowly, no canary or old version may get all requests.
TEST_F(AdminServiceTest, NoOtherVersionServesWhileTheReplacementLoads) {
  files_.Add("m", 4);
  for (const bool pinned : {true, false}) {
    files_.Write("serving", pinned ? "models { model: 'm' labels { label: 'stable' version: 3 } "
                                     "         traffic { version: 4 percent: 5 } }"
                                   : "models { model: 'm' traffic { version: 4 percent: 5 } }");
    std::filesystem::remove(options_.admin_state);
    Restart();
    ASSERT_TRUE(Load("model: 'm' version: 1").ok());
    ASSERT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY", "m/4 READY"));
    int looks = 0;
    files_.during_load = [&](const VersionId& id) {
      EXPECT_EQ(id.version, 2);
      EXPECT_EQ(Stable(), 3);
      EXPECT_EQ(registry_->Traffic("m").PercentOf(4), 5);
      ++looks;
    };
    const auto change = RollBack("model: 'm' version: 3");
    files_.during_load = nullptr;
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(Stable(), 2);
    EXPECT_EQ(registry_->Traffic("m").PercentOf(4), 5);
    Poll();
    EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/2 READY", "m/4 READY"));
  }
}

TEST_F(AdminServiceTest, ARollbackDoesNotServeACanaryInstead) {
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } traffic { version: 2 percent: 5 } }");
  Restart();
  ASSERT_TRUE(RollBack("model: 'm' version: 3").ok());
  EXPECT_EQ(Stable(), 1) << "the version before it that is not tried out";
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 5);
}

// The registry loads one version at a time, but a rollback to a version in memory needs no load.
TEST_F(AdminServiceTest, ARollbackToALoadedVersionDoesNotWaitForLoads) {
  ASSERT_TRUE(Load("model: 'm' version: 2").ok());
  files_.slow = {"z", 1};
  files_.Add("z", 1);
  registry_->Start();
  ASSERT_TRUE(Eventually([&] { return files_.loading.load(); }));
  std::jthread rollback([&] {
    const auto change = RollBack("model: 'm'");
    EXPECT_TRUE(change.ok()) << change.status();
  });
  EXPECT_TRUE(Eventually([&] { return Stable() == 2; }));
  EXPECT_THAT(States(*registry_), Contains("z/1 LOADING"));
  files_.Finish();
  rollback.join();
  EXPECT_TRUE(Eventually([&] { return !registry_->Find("m", 3).ok(); }));
}

TEST_F(AdminServiceTest, ARollbackWithoutAUsableVersionChangesNothing) {
  files_.bad = {{"m", 1}, {"m", 2}};
  const std::string before = Settings();
  const auto change = RollBack("model: 'm'");
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(change.status().ToString(), HasSubstr("weights.safetensors of"));
  EXPECT_EQ(Settings(), before);
  EXPECT_EQ(Stable(), 3);
}

TEST_F(AdminServiceTest, ARollbackMovesTheStableLabelAndReplacesASpecificPolicy) {
  v1::SetVersionPolicyRequest policy =
      FromText<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: 3 } }");
  ASSERT_TRUE(admin_->SetVersionPolicy(policy).ok());
  ASSERT_TRUE(Label("stable", 3).ok());
  const auto change = RollBack("model: 'm'");
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Stable(), 2);
  EXPECT_THAT(change->notes(), ElementsAre("the label stable moved from version 3 to 2"));
  files_.Add("m", 4);
  Poll();
  EXPECT_EQ(Stable(), 2);
}

TEST_F(AdminServiceTest, ARolledBackCanaryLosesItsTrafficShare) {
  ASSERT_TRUE(Load("model: 'm' version: 2").ok());
  ASSERT_TRUE(Traffic("model: 'm' shares { version: 3 percent: 30 }").ok());
  const auto change = RollBack("model: 'm' version: 3");
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Stable(), 2);
  EXPECT_FALSE(registry_->Find("m", 3).ok());
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 100);
  ASSERT_TRUE(Load("model: 'm' version: 3").ok());
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 0) << "what comes back begins without traffic";
}

TEST_F(AdminServiceTest, ARollbackWithoutAVersionRemovesTheCanary) {
  ASSERT_TRUE(Load("model: 'm' version: 2").ok());
  ASSERT_TRUE(Traffic("model: 'm' shares { version: 3 percent: 10 }").ok());
  const auto change = RollBack("model: 'm'");
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Stable(), 2);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 100);
  EXPECT_FALSE(registry_->Find("m", 3).ok());
  EXPECT_EQ(change->serving().put_away(0).version(), 3);
}

TEST_F(AdminServiceTest, ARollbackWithSeveralCanariesNeedsAVersion) {
  for (const int version : {1, 2}) ASSERT_TRUE(Load(absl::StrCat("model: 'm' version: ", version)).ok());
  ASSERT_TRUE(Label("stable", 1).ok());
  ASSERT_TRUE(Traffic("model: 'm' shares { version: 2 percent: 5 } shares { version: 3 percent: 5 }").ok());
  const std::string before = Settings();
  const auto change = RollBack("model: 'm'");
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(change.status().ToString(), HasSubstr("versions 2, 3 of model \"m\" are canaries"));
  EXPECT_EQ(Settings(), before);
}

TEST_F(AdminServiceTest, UnloadsAVersionButNeverTheLast) {
  ASSERT_TRUE(Load("model: 'm' version: 1").ok());
  ASSERT_TRUE(Unload("model: 'm' version: 3").ok());
  Poll();
  EXPECT_FALSE(registry_->Find("m", 3).ok());
  EXPECT_TRUE(registry_->Find("m").ok());
  std::filesystem::remove_all(files_.root() / "m" / "2");
  ASSERT_TRUE(Unload("model: 'm' version: 2").ok());
  Poll();
  EXPECT_EQ(Stable(), 1);
  const absl::Status last = Unload("model: 'm' version: 1");
  EXPECT_EQ(last.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(last.ToString(), HasSubstr("only one that can serve"));
  EXPECT_EQ(Stable(), 1);
  EXPECT_EQ(Unload("model: 'm' version: 77").code(), absl::StatusCode::kNotFound);
}

TEST_F(AdminServiceTest, UnloadsAWholeModelAndLoadsItAgain) {
  ASSERT_TRUE(Unload("model: 'm'").ok());
  Poll();
  EXPECT_THAT(States(*registry_), IsEmpty());
  EXPECT_TRUE(Serving().unloaded());
  EXPECT_EQ(Serving().stable_version(), 0);
  Restart();
  EXPECT_THAT(States(*registry_), IsEmpty()) << "a restart does not undo it";
  ASSERT_TRUE(Load("model: 'm'").ok());
  EXPECT_THAT(States(*registry_), ElementsAre("m/3 READY"));
}

// A version that an operator unloads serves until its replacement is ready, as in a rollback. Otherwise another loaded
// version would get all requests.
TEST_F(AdminServiceTest, AnUnloadedVersionServesUntilItsReplacementIsReady) {
  ASSERT_TRUE(Load("model: 'm' version: 1").ok());
  int looks = 0;
  files_.during_load = [&](const VersionId& id) {
    EXPECT_EQ(id.version, 2);
    EXPECT_EQ(Stable(), 3);
    ++looks;
  };
  ASSERT_TRUE(Unload("model: 'm' version: 3").ok());
  files_.during_load = nullptr;
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(Stable(), 2);
  EXPECT_THAT(settings_->Plan("m").changed.loaded(), ElementsAre(1)) << "the replacement is left to the policy";
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/2 READY"));
}

TEST_F(AdminServiceTest, AnUnloadSkipsReplacementsThatCannotBeLoaded) {
  files_.bad = {{"m", 2}};
  ASSERT_TRUE(Unload("model: 'm' version: 3").ok());
  EXPECT_EQ(Stable(), 1);
}

TEST_F(AdminServiceTest, ChangesSurviveARestartOnlyWithAStateFile) {
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  Restart();
  EXPECT_EQ(Stable(), 2);
  EXPECT_EQ(admin_->GetServing({})->admin_state(), options_.admin_state);
  EXPECT_TRUE(Serving().changed_by_admin());
  options_.admin_state.clear();
  Restart();
  EXPECT_EQ(admin_->GetServing({})->admin_state(), "");
  EXPECT_EQ(Stable(), 3);
}

TEST_F(AdminServiceTest, NoChangeIsMadeIfTheStateFileCannotBeWritten) {
  std::filesystem::create_directory(files_.folder() / "state.new");
  EXPECT_EQ(RollBack("model: 'm'").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Stable(), 3);
}

// A process that dies during a change restarts with the last settings that worked.
TEST_F(AdminServiceTest, TheStateFileHasOnlyCompletedChanges) {
  files_.Write("state", "");
  const auto kept = [&] { return std::filesystem::file_size(options_.admin_state); };
  int looks = 0;
  files_.during_load = [&](const VersionId&) {
    EXPECT_EQ(kept(), 0u) << "while it loads";
    ++looks;
  };
  files_.bad = {{"m", 1}};
  EXPECT_FALSE(Load("model: 'm' version: 1").ok());
  EXPECT_EQ(kept(), 0u);
  EXPECT_FALSE(std::filesystem::exists(options_.admin_state + ".new")) << "nothing lies about";
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  EXPECT_EQ(looks, 2);
  EXPECT_GT(kept(), 0u);
}

TEST_F(AdminServiceTest, AChangeIsUndoneIfTheStateFileCannotBeReplaced) {
  std::filesystem::create_directory(options_.admin_state);
  EXPECT_EQ(RollBack("model: 'm'").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Stable(), 3);
  EXPECT_THAT(settings_->Models(), IsEmpty());
}

}  // namespace
}  // namespace vitrine
