// SPDX-License-Identifier: Apache-2.0
// Tests the registry with settings: policies, memory limits and the immediate reaction to changes.
#include "tests/server/registry/registry_settings_test.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/serving_rules.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(RegistrySettingsTest, WarnsOfModelsAndVersionsThatTheRepositoryLacks) {
  files_.Add("m", 1);
  files_.Write("serving",
               "models { model: 'nosuch' } models { model: 'm' labels { label: 'stable' version: 1 }"
               " labels { label: 'next' version: 7 } version_precisions { version: 6 precision: 'fp32' } }");
  Open();
  const auto poll = [&] { return Logged("info", "text", [&] { registry_->Poll(); }); };
  const std::string log = poll();
  EXPECT_THAT(log,
              HasSubstr("the serving settings name a model or version that the repository does not have model=nosuch"));
  EXPECT_THAT(log, HasSubstr("model=nosuch version=\"\" held=m"));
  EXPECT_THAT(log, HasSubstr("model=m version=7 held=1"));
  EXPECT_THAT(log, HasSubstr("model=m version=6 held=1"));
  EXPECT_THAT(log, Not(HasSubstr("version=1 held")));
  EXPECT_THAT(poll(), Not(HasSubstr("does not have"))) << "the warning appears only once";
  files_.Add("nosuch", 1);
  files_.Write("serving", "models { model: 'nosuch' } models { model: 'm2' }");
  const std::string later = poll();
  EXPECT_THAT(later, HasSubstr("model=m2"));
  EXPECT_THAT(later, Not(HasSubstr("hold model=nosuch")));
}

TEST_F(RegistrySettingsTest, FollowsAPolicyThatChanges) {
  for (int version = 1; version <= 4; ++version) files_.Add("m", version);
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } }");
  Open();
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/3 READY", "m/4 READY"));
  files_.Write("serving", "models { model: 'm' version_policy { specific { versions: [1, 3] } } }");
  registry_->Poll();
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/3 READY"));
  EXPECT_EQ(registry_->Find("m").value()->id.version, 3);
  files_.Write("serving", "models { model: 'm' version_policy { all: true } }");
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/2 READY", "m/3 READY", "m/4 READY"));
  EXPECT_THAT(files_.loads, ElementsAre("m/4", "m/3", "m/1", "m/4", "m/2")) << "ready versions are not loaded again";
  files_.Write("serving", "models { model: 'm' version_policy { nonsense } }");
  registry_->Poll();
  EXPECT_EQ(States(*registry_).size(), 4u) << "a broken file changes nothing";
}

TEST_F(RegistrySettingsTest, AVersionThatWasPutAwayStaysUnloaded) {
  files_.Add("m", 1);
  files_.Add("m", 2);
  Open();
  registry_->Poll();
  const std::string reason = absl::StrCat(kByGuard, "too slow");
  const auto put_away = [&](v1::ModelOverride& row) {
    row.add_put_away()->set_version(2);
    row.mutable_put_away(0)->set_reason(reason);
  };
  std::vector<std::string> reasons;
  registry_->Subscribe([&](const v1::ModelEvent& event) { reasons.push_back(event.version().reason()); });
  Set(put_away);
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_THAT(reasons, ::testing::Contains(reason)) << "events give the guard's reason";
  for (int poll = 0; poll < 5; ++poll) {
    clock_.Advance(absl::Hours(1));
    registry_->Poll();
  }
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY"));
  EXPECT_THAT(registry_->Get("m").value().reason, HasSubstr("vitrine admin load m@2"));
  std::filesystem::remove_all(files_.root() / "m/2");
  registry_->Poll();
  EXPECT_EQ(registry_->Get("m").value().reason, "") << "a deleted version cannot be loaded again";
  EXPECT_THAT(registry_->Get("m", 2).status().ToString(), HasSubstr("has no version 2"));
  files_.Add("m", 2);
  files_.Add("m", 3);
  registry_->Poll();
  EXPECT_EQ(registry_->Find("m").value()->id.version, 3) << "a newer version is not affected";
  EXPECT_THAT(registry_->Get("m").value().reason, HasSubstr("vitrine admin load m@2")) << "it is back";
  Set([](v1::ModelOverride& row) {
    v1::PutAway& away = *row.add_put_away();
    away.set_version(3);
    away.set_reason("a complaint of a customer");
  });
  EXPECT_THAT(reasons, ::testing::Contains("by an operator"));
  EXPECT_THAT(reasons, Not(::testing::Contains("a complaint of a customer"))) << "it is only for operators";
}

TEST_F(RegistrySettingsTest, AVersionRetiresOnlyAfterItsReplacementIsReady) {
  files_.Add("m", 1);
  files_.Add("m", 2);
  Open();
  registry_->Poll();
  files_.bad.insert({"m", 1});
  Set([](v1::ModelOverride& row) { row.add_put_away()->set_version(2); });
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 FAILED", "m/2 READY"))
      << "the last version that can serve keeps serving";
  files_.bad.clear();
  ASSERT_TRUE(registry_->Reconcile({{"m", 1}}).ok()) << "Reconcile loads at once, regardless of the retry time";
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY"));
}

TEST_F(RegistrySettingsTest, ARetiringVersionServesAgainWithoutALoad) {
  files_.Add("m", 1);
  Open();
  registry_->Poll();
  const ModelHandle held = registry_->Find("m").value();
  files_.Add("m", 2);
  registry_->Poll();
  Set([](v1::ModelOverride& row) { row.add_put_away()->set_version(2); });
  EXPECT_EQ(registry_->Find("m").value(), held);
  EXPECT_THAT(files_.loads, ElementsAre("m/1", "m/2"));
}

TEST_F(RegistrySettingsTest, AModelCanBeUnloadedAndLoadedAgain) {
  files_.Add("m", 1);
  files_.Add("n", 1);
  Open();
  registry_->Poll();
  Set([](v1::ModelOverride& row) { row.set_unloaded(true); });
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("n/1 READY"));
  EXPECT_THAT(registry_->Find("m").status().ToString(), HasSubstr("unloaded by an operator"));
  Set([](v1::ModelOverride& row) { row.set_unloaded(false); });
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "n/1 READY"));
}

TEST_F(RegistrySettingsTest, ALoadOverTheModelsLimitIsRefusedAndTheOldVersionServes) {
  files_.Add("m", 1);
  files_.Write("serving", "models { model: 'm' limits { max_memory_bytes: 199 max_queued_requests: 7 } }");
  Open();
  registry_->Poll();
  EXPECT_EQ(limits_.For("m")->max_requests, 7);
  EXPECT_EQ(limits_.For("m")->max_bytes, QueueLimits::kNone);
  EXPECT_EQ(limits_.For("n")->max_requests, QueueLimits::kNone);
  files_.Add("m", 2);
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/2 FAILED"));
  EXPECT_THAT(registry_->Get("m", 2).value().reason, HasSubstr("exceeds the model's limit of 199 bytes"));
  files_.Write("serving", "models { model: 'm' limits { max_memory_bytes: 200 } }");
  clock_.Advance(absl::Seconds(10));
  registry_->Poll();
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/2 READY"));
  EXPECT_EQ(limits_.For("m")->max_requests, QueueLimits::kNone)
      << "a limit that was removed from the file no longer applies";
}

TEST_F(RegistrySettingsTest, BatchLimitsFollowTheFile) {
  const BatchLimits server = BatchOptions().Limits();
  files_.Add("m", 1);
  files_.Write("serving", "models { model: 'm' batching { max_batch_images: 3 max_wait_seconds: 0.002 } }");
  Open();
  registry_->Poll();
  BatchLimits own = server;
  own.max_batch_images = 3;
  own.max_wait = absl::Milliseconds(2);
  EXPECT_EQ(limits_.For("m")->batch(), own);
  EXPECT_EQ(limits_.For("n")->batch(), server);
  files_.Write("serving", "models { model: 'm' batching { max_batch_tokens: 99 max_batch_pixels: 98 } }");
  registry_->Poll();
  own = server;
  own.max_batch_tokens = 99;
  own.max_batch_pixels = 98;
  EXPECT_EQ(limits_.For("m")->batch(), own) << "limits that are not in the file are the server's again";
  files_.Write("serving", "models { model: 'm' batching { max_batch_tokens: 0 } }");
  registry_->Poll();
  EXPECT_EQ(limits_.For("m")->batch(), own) << "an invalid file changes nothing";
  EXPECT_THAT(settings_->fault().ToString(), HasSubstr("model \"m\": batching.max_batch_tokens is 0"));
}

TEST_F(RegistrySettingsTest, TheServersMemoryLimitIsCheckedBeforeALoad) {
  files_.Add("a", 1);
  files_.Add("b", 1);
  options_.max_memory_bytes = 150;
  sizer_ = [this](const VersionId&) -> absl::StatusOr<int64_t> { return files_.bytes; };
  Open();
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("a/1 READY", "b/1 FAILED"));
  EXPECT_THAT(registry_->Get("b", 1).value().reason, HasSubstr("--model-memory of 150"));
  EXPECT_THAT(files_.loads, ElementsAre("a/1"));
}

// Tests that changed settings do not change the time of the next retry.
TEST_F(RegistrySettingsTest, ARaisedLimitTakesEffectAtTheNextRetry) {
  files_.Add("m", 1);
  files_.Write("serving", "models { model: 'm' limits { max_memory_bytes: 99 } }");
  Open();
  registry_->Poll();
  ASSERT_THAT(States(*registry_), ElementsAre("m/1 FAILED"));
  clock_.Advance(options_.first_retry);
  registry_->Poll();
  EXPECT_EQ(files_.loads.size(), 2u);
  files_.Write("serving", "models { model: 'm' limits { max_memory_bytes: 100 } }");
  clock_.Advance(2 * options_.first_retry - absl::Milliseconds(1));
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 FAILED")) << "the version is not loaded before its retry time";
  clock_.Advance(absl::Milliseconds(1));
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY"));
  EXPECT_EQ(files_.loads.size(), 3u);
}

TEST_F(RegistrySettingsTest, ReturnsTheVersionThatAPlanWouldLoadNext) {
  for (const int version : {1, 2, 3}) files_.Add("m", version);
  Open();
  registry_->Poll();
  const auto put_away = [](v1::ModelOverride& row) { row.add_put_away()->set_version(3); };
  EXPECT_FALSE(registry_->NextLoad("m", settings_->Plan("m")).has_value());
  EXPECT_EQ(registry_->NextLoad("m", settings_->Plan("m", put_away)).value_or(0), 2);
  EXPECT_FALSE(IsPutAway(settings_->Plan("m").changed, 3)) << "Plan must not change the settings";
  EXPECT_FALSE(registry_->NextLoad("n", settings_->Plan("n")).has_value());
}

TEST_F(RegistrySettingsTest, ADeletedModelIsForgottenAfterItsSettingsAreReset) {
  files_.Add("m", 1);
  files_.Add("n", 1);
  Open();
  registry_->Poll();
  Set([](v1::ModelOverride& row) { row.set_unloaded(true); });
  std::filesystem::remove_all(files_.root() / "m");
  registry_->Poll();
  EXPECT_THAT(registry_->Find("m").status().ToString(), HasSubstr("unloaded by an operator"));
  Set([](v1::ModelOverride& row) { row.Clear(); });
  EXPECT_THAT(registry_->Find("m").status().ToString(), HasSubstr("there is no model \"m\"; there is \"n\""));
}

TEST_F(RegistrySettingsTest, FailingVersionsDoNotDelayOtherModels) {
  for (const int version : {1, 2, 3}) files_.Add("m", version);
  files_.Add("z", 1);
  files_.bad = {{"m", 1}, {"m", 2}, {"m", 3}};
  files_.Write("serving", "default_policy { all: true }");
  // Makes every load take longer than the first retry delay.
  load_ = [this](const VersionId& id) {
    clock_.Advance(absl::Seconds(5));
    return files_.Load(id);
  };
  Open();
  registry_->Poll();
  EXPECT_THAT(files_.loads, ElementsAre("m/3", "m/2", "m/1", "z/1"));
}

TEST_F(RegistrySettingsTest, APublishedVersionIsLoadedAtOnce) {
  files_.Add("m", 1);
  options_.poll_interval = absl::Hours(1);
  Open();
  registry_->Start();
  ASSERT_TRUE(registry_->WaitForFirstPoll(absl::Seconds(20)));
  RepositoryWatch probe(files_.root(), {});
  if (!probe.watching()) GTEST_SKIP() << "inotify is not available";
  const auto serves = [&](const std::string& model, int64_t version) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (registry_->Find(model, version).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  for (int version = 2; version <= 20; ++version) {
    files_.Add("m", version);
    ASSERT_TRUE(serves("m", version)) << version;
  }
  files_.Add("n", 1);
  EXPECT_TRUE(serves("n", 1)) << "a new model must be loaded";
  files_.Write("serving", "models { model: 'm' version_policy { specific { versions: 7 } } }");
  EXPECT_TRUE(serves("m", 7)) << "new settings must be applied";
  std::filesystem::rename(files_.root(), files_.folder() / "away");
  files_.Write("serving", "models { model: 'm' version_policy { specific { versions: 7 } } } models { model: 'x' }");
  std::filesystem::rename(files_.folder() / "away", files_.root());
  files_.Add("n", 2);
  EXPECT_TRUE(serves("n", 2)) << "the root was renamed and renamed back";
  EXPECT_TRUE(registry_->Find("m", 7).ok());
}

TEST_F(RegistrySettingsTest, ReconcileReturnsAfterTheChange) {
  files_.Add("m", 1);
  files_.Add("m", 2);
  options_.poll_interval = absl::Hours(1);
  Open();
  registry_->Start();
  for (int round = 0; round < 50; ++round) {
    Set([&](v1::ModelOverride& row) {
      row.Clear();
      if (round % 2 == 0) row.add_put_away()->set_version(2);
    });
    ASSERT_EQ(registry_->Find("m").value()->id.version, round % 2 == 0 ? 1 : 2) << round;
  }
}

TEST_F(RegistrySettingsTest, ReconcileReturnsAtItsTimeoutDuringALoad) {
  files_.Add("m", 1);
  Open();
  registry_->Poll();
  files_.slow = {"z", 1};
  files_.Add("z", 1);
  registry_->Start();
  ASSERT_TRUE(Eventually([&] { return files_.loading.load(); }));
  EXPECT_EQ(registry_->Reconcile({}, absl::ZeroDuration()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(registry_->Reconcile({}, absl::Milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
  // Requests must follow new settings even while the load is still running.
  ASSERT_TRUE(settings_
                  ->Change("m",
                           [](v1::ModelOverride& row) {
                             *row.add_labels() = FromText<v1::VersionLabel>("label: 'old' version: 1");
                           })
                  .ok());
  registry_->Divide("m");
  EXPECT_EQ(registry_->Traffic("m").labels.count("old"), 1u);
  files_.Finish();
  EXPECT_TRUE(registry_->Reconcile().ok());
}

// Changes the settings during a load. The poll after the load must use the new plan.
TEST_F(RegistrySettingsTest, AVersionThatIsLabelledDuringALoadDoesNotRetire) {
  files_.Add("m", 1);
  Open();
  registry_->Poll();
  files_.slow = {"m", 2};
  files_.Add("m", 2);
  registry_->Start();
  ASSERT_TRUE(Eventually([&] { return files_.loading.load(); }));
  const ModelHandle first = registry_->Find("m", 1).value();
  std::atomic<bool> retired = false;
  const uint64_t listener = registry_->Subscribe([&](const v1::ModelEvent& event) {
    if (event.version().version() == 1 && event.version().state() == v1::RETIRING) retired = true;
  });
  ASSERT_TRUE(settings_
                  ->Change("m",
                           [](v1::ModelOverride& row) {
                             *row.add_labels() = FromText<v1::VersionLabel>("label: 'stable' version: 1");
                           })
                  .ok());
  registry_->Divide("m");
  files_.Finish();
  EXPECT_TRUE(registry_->Reconcile().ok());
  registry_->Unsubscribe(listener);
  EXPECT_FALSE(retired);
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
}

}  // namespace
}  // namespace vitrine
