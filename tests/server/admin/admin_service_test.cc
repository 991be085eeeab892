#include "server/admin/admin_service.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "server/registry/serving_rules.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Versions 1 to 3 of "m" on disk; the newest serves.
class AdminServiceTest : public ::testing::Test {
 protected:
  AdminServiceTest() {
    options_.root = files_.root();
    options_.admin_state = (files_.folder() / "state").string();
    for (int version = 1; version <= 3; ++version) files_.Add("m", version);
    Restart();
  }

  void Restart() {
    admin_.reset();
    registry_.reset();
    settings_ = *ServingSettings::Open(options_.Serving());
    registry_ = std::make_unique<Registry>(options_,
                                           Registry::Parts{.load =
                                                               [this](const VersionId& id) {
                                                                 if (during_load_ && registry_ != nullptr)
                                                                   during_load_(id);
                                                                 return files_.Load(id);
                                                               },
                                                           .settings = settings_.get()},
                                           clock_);
    registry_->Poll();
    admin_ = std::make_unique<AdminService>(*registry_, *settings_);
  }

  template <typename Request>
  static Request Ask(const std::string& text) {
    return FromText<Request>(text);
  }
  absl::Status Load(const std::string& text) { return admin_->LoadModel(Ask<v1::LoadModelRequest>(text)).status(); }
  absl::Status Unload(const std::string& text) {
    return admin_->UnloadModel(Ask<v1::UnloadModelRequest>(text)).status();
  }
  absl::StatusOr<v1::ServingChange> RollBack(const std::string& text) {
    return admin_->RollbackModel(Ask<v1::RollbackModelRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Traffic(const std::string& text) {
    return admin_->SetTraffic(Ask<v1::SetTrafficRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Label(const std::string& label, int64_t version) {
    v1::SetLabelRequest request;
    request.set_model("m");
    request.set_label(label);
    request.set_version(version);
    return admin_->SetLabel(request);
  }
  v1::ModelServingStatus Serving() {
    const auto status = admin_->GetServing(Ask<v1::GetServingRequest>("model: 'm'"));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? status->models(0) : v1::ModelServingStatus();
  }
  // What the settings say, to see that a refusal changes nothing.
  std::string Settings() { return settings_->Plan("m").changed.DebugString(); }
  int64_t Stable() { return registry_->Traffic("m").stable; }
  void Poll() {
    clock_.Advance(absl::Hours(1));
    registry_->Poll();
    registry_->Poll();
  }

  FakeRepository files_;
  FakeClock clock_;
  RegistryOptions options_;
  std::function<void(const VersionId&)> during_load_;  // what the world looks like while a version is loaded
  std::unique_ptr<ServingSettings> settings_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<AdminService> admin_;
};

TEST_F(AdminServiceTest, LoadsAVersionBesideWhatThePolicySays) {
  ASSERT_TRUE(Load("model: 'm' version: 1").ok());
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY"));
  EXPECT_EQ(Stable(), 3);
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY"));
}

TEST_F(AdminServiceTest, ALoadThatFailsSaysWhyAndChangesNothing) {
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

TEST_F(AdminServiceTest, RollsBackToTheVersionBefore) {
  const auto change = RollBack("model: 'm' reason: 'wrong colours'");
  ASSERT_TRUE(change.ok()) << change.status();
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
  files_.Add("m", 4);
  Poll();
  EXPECT_EQ(Stable(), 4) << "what is published afterwards serves";
  ASSERT_TRUE(Load("model: 'm' version: 2").ok()) << "and what was put away comes back when it is asked for";
  EXPECT_TRUE(registry_->Find("m", 2).ok());
}

TEST_F(AdminServiceTest, ARollbackPassesOverVersionsThatAreRefused) {
  files_.bad.insert({"m", 2});
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  EXPECT_EQ(Stable(), 1);
}

// However long the replacement takes to load: a canary or an old version does not get everybody's requests meanwhile.
TEST_F(AdminServiceTest, WhileTheReplacementLoadsNobodyElseStandsIn) {
  files_.Add("m", 4);
  for (const bool pinned : {true, false}) {
    files_.Write("serving", pinned ? "models { model: 'm' labels { label: 'stable' version: 3 } "
                                     "         traffic { version: 4 percent: 5 } }"
                                   : "models { model: 'm' traffic { version: 4 percent: 5 } }");
    options_.serving_config = (files_.folder() / "serving").string();
    std::filesystem::remove(options_.admin_state);
    Restart();
    ASSERT_TRUE(Load("model: 'm' version: 1").ok());
    ASSERT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY", "m/4 READY"));
    int looks = 0;
    during_load_ = [&](const VersionId& id) {
      EXPECT_EQ(id.version, 2);
      EXPECT_EQ(Stable(), 3);
      EXPECT_EQ(registry_->Traffic("m").PercentOf(4), 5);
      ++looks;
    };
    const auto change = RollBack("model: 'm'");
    during_load_ = nullptr;
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
  options_.serving_config = (files_.folder() / "serving").string();
  Restart();
  ASSERT_TRUE(RollBack("model: 'm'").ok());
  EXPECT_EQ(Stable(), 1) << "the version before it that is not tried out";
  EXPECT_EQ(registry_->Traffic("m").PercentOf(2), 5);
}

TEST_F(AdminServiceTest, ARollbackThatHasNowhereToGoChangesNothing) {
  files_.bad = {{"m", 1}, {"m", 2}};
  const std::string before = Settings();
  const auto change = RollBack("model: 'm'");
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(change.status().ToString(), HasSubstr("weights.safetensors of"));
  EXPECT_EQ(Settings(), before);
  EXPECT_EQ(Stable(), 3);
}

TEST_F(AdminServiceTest, ARollbackMovesThePinAndLeavesASpecificPolicy) {
  v1::SetVersionPolicyRequest policy =
      Ask<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: 3 } }");
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

TEST_F(AdminServiceTest, UnloadsAModelAsAWholeAndBringsItBack) {
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

TEST_F(AdminServiceTest, TrafficGoesToACanaryAndBack) {
  const auto change = Traffic("model: 'm' shares { version: 3 percent: 5 }");
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition) << "nobody would take the rest";
  ASSERT_TRUE(Load("model: 'm' version: 2").ok());
  const auto divided = Traffic("model: 'm' shares { version: 3 percent: 5 }");
  ASSERT_TRUE(divided.ok()) << divided.status();
  EXPECT_EQ(divided->serving().stable_version(), 2);
  EXPECT_THAT(divided->notes(), ElementsAre(HasSubstr("version 2 got the label stable")));
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 5);
  EXPECT_EQ(Serving().versions(1).version_labels(0), "canary");

  // The canary loses its share: it does not become the version that serves.
  ASSERT_TRUE(Traffic("model: 'm'").ok());
  EXPECT_EQ(Stable(), 2);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 0);

  // It is good: everybody gets it.
  ASSERT_TRUE(Traffic("model: 'm' shares { version: 3 percent: 50 }").ok());
  const auto promoted = Label("stable", 3);
  ASSERT_TRUE(promoted.ok()) << promoted.status();
  EXPECT_EQ(Stable(), 3);
  EXPECT_EQ(registry_->Traffic("m").PercentOf(3), 100);
  EXPECT_TRUE(promoted->serving().serving().traffic().empty());
}

TEST_F(AdminServiceTest, ACanaryThatIsRolledBackLosesItsShare) {
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

TEST_F(AdminServiceTest, LabelsAreGivenToReadyVersionsAndTakenAway) {
  EXPECT_EQ(Label("blue", 2).status().code(), absl::StatusCode::kNotFound) << "it is not in memory";
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

TEST_F(AdminServiceTest, ALabelOfTheFileCanBeCleared) {
  files_.Write("serving", "models { model: 'm' labels { label: 'blue' version: 3 } }");
  options_.serving_config = (files_.folder() / "serving").string();
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

TEST_F(AdminServiceTest, PoliciesTakeEffectAtOnce) {
  ASSERT_TRUE(admin_->SetVersionPolicy(Ask<v1::SetVersionPolicyRequest>("model: 'm' policy { latest: 2 }")).ok());
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY", "m/3 READY"));
  const auto missing =
      admin_->SetVersionPolicy(Ask<v1::SetVersionPolicyRequest>("model: 'm' policy { specific { versions: [1, 9] } }"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY", "m/3 READY")) << "the policy before holds on";
  EXPECT_EQ(admin_->SetVersionPolicy(Ask<v1::SetVersionPolicyRequest>("model: 'm'")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(AdminServiceTest, ChangesSurviveARestartOrSayThatTheyDoNot) {
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

TEST_F(AdminServiceTest, AStateFileThatCannotBeWrittenMakesNoChange) {
  std::filesystem::create_directory(files_.folder() / "state.new");
  EXPECT_EQ(RollBack("model: 'm'").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Stable(), 3);
}

TEST_F(AdminServiceTest, GetServingTellsWhatHoldsAndWhy) {
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
  EXPECT_EQ(admin_->GetServing(Ask<v1::GetServingRequest>("model: 'n'")).status().code(), absl::StatusCode::kNotFound);
}

// Every change at once, from several threads, while requests are routed: no moment without a version.
TEST_F(AdminServiceTest, NoMomentWithoutAVersionWhileOperatorsChangeEverything) {
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
        // Some of these are refused, as the others have left things.
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
