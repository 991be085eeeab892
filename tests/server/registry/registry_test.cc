// SPDX-License-Identifier: Apache-2.0
#include "tests/server/registry/registry_test.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RegistryTest, LoadsTheNewestVersionOfEveryModel) {
  Add("a", 1);
  Add("a", 12);
  Add("b", 3);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("a/12 READY", "b/3 READY"));
  EXPECT_EQ(registry.Find("a").value()->id.version, 12);
  EXPECT_EQ(registry.Find("b", 3).value()->id.version, 3);
  registry.Poll();
  EXPECT_THAT(loads, ElementsAre("a/12", "b/3")) << "a second poll must load nothing";
}

TEST_F(RegistryTest, EveryAttemptToLoadIsReported) {
  Add("m", 1);
  Add("m", 2);
  bad.insert({"m", 2});
  std::vector<std::string> told;
  Registry registry(Options(),
                    Registry::Parts{.load = Loader(),
                                    .bytes_of = [](const VersionId&) -> absl::StatusOr<int64_t> { return 1; },
                                    .attempted =
                                        [&](const VersionId& id, const absl::Status& outcome, absl::Duration) {
                                          told.push_back(absl::StrCat(id.version, outcome.ok() ? " ok" : " refused"));
                                        }},
                    clock_);
  registry.Poll();
  EXPECT_THAT(told, ElementsAre("2 refused", "1 ok"));
}

TEST_F(RegistryTest, IsUnavailableUntilTheFirstPollIsDone) {
  Add("a", 1);
  Registry registry(Options(), Loader(), clock_);
  // Expects UNAVAILABLE, so that clients retry, perhaps on another replica that has the model. Clients do not retry
  // NOT_FOUND.
  EXPECT_EQ(registry.Find("a").status().code(), absl::StatusCode::kUnavailable);
  registry.Poll();
  EXPECT_EQ(registry.Find("b").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RegistryTest, AnOldVersionRetiresUntilItsHandlesAreReleased) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  ModelHandle held = registry.Find("m").value();
  Add("m", 2);
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->id.version, 2);
  EXPECT_THAT(States(registry), ElementsAre("m/1 RETIRING", "m/2 READY"));
  EXPECT_EQ(registry.Find("m", 1).status().code(), absl::StatusCode::kNotFound);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 RETIRING", "m/2 READY")) << "a request still holds version 1";
  EXPECT_EQ(held->id.version, 1);
  held.reset();
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY"));
}

// Returns a version that calls `freed` in the thread that frees the version.
ModelHandle Tracked(const VersionId& id, std::function<void()> freed) {
  auto model = std::make_unique<LoadedModel>();
  model->id = id;
  return {model.release(), [freed = std::move(freed)](const LoadedModel* held) {
            delete held;
            freed();
          }};
}

// Tests that the registry's thread frees a version. Freeing a large model takes long and would block an executor.
TEST_F(RegistryTest, AThreadThatReleasesTheLastHandleDoesNotFreeTheVersion) {
  Add("m", 1);
  std::promise<std::thread::id> freed;
  const Registry::Loader loader = [&](const VersionId& id) {
    return Tracked(id, [&, id] {
      if (id.version == 1) freed.set_value(std::this_thread::get_id());
    });
  };
  RegistryOptions options = Options();
  options.poll_interval = absl::Hours(1);
  Registry registry(options, loader, clock_);
  registry.Start();
  ASSERT_TRUE(registry.WaitForFirstPoll(absl::Minutes(1)));
  ModelHandle held = registry.Find("m").value();
  Add("m", 2);
  ASSERT_TRUE(registry.Reconcile().ok());
  held.reset();
  std::future<std::thread::id> where = freed.get_future();
  ASSERT_EQ(where.wait_for(std::chrono::minutes(1)), std::future_status::ready) << "the version must be freed soon";
  EXPECT_NE(where.get(), std::this_thread::get_id());
}

TEST_F(RegistryTest, AHandleThatOutlivesTheRegistryFreesItsVersion) {
  Add("m", 1);
  bool freed = false;
  const Registry::Loader loader = [&](const VersionId& id) { return Tracked(id, [&] { freed = true; }); };
  auto registry = std::make_unique<Registry>(Options(), loader, clock_);
  registry->Poll();
  ModelHandle held = registry->Find("m").value();
  registry.reset();
  EXPECT_FALSE(freed);
  held.reset();
  EXPECT_TRUE(freed);
}

TEST_F(RegistryTest, AMissingRepositoryLeavesTheLoadedVersionServing) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::rename(root(), folder() / "away");
  registry.Poll();
  EXPECT_FALSE(registry.repository_status().ok());
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
  std::filesystem::rename(folder() / "away", root());
  Add("m", 2);
  registry.Poll();
  EXPECT_TRUE(registry.repository_status().ok());
  EXPECT_EQ(registry.Find("m").value()->id.version, 2);
}

TEST_F(RegistryTest, AnUnreadableModelIsListedAsFailed) {
  Add("good", 1);
  Add("hidden", 1);
  std::filesystem::permissions(root() / "hidden", std::filesystem::perms::none);
  Registry registry(Options(), Loader(), clock_);
  {
    const WithoutRights without;
    registry.Poll();
  }
  EXPECT_THAT(States(registry), ElementsAre("good/1 READY", "hidden/0 FAILED"));
  EXPECT_THAT(std::string(registry.repository_status().message()), HasSubstr("\"hidden\": Permission denied"));
  const absl::Status asked = registry.Find("hidden").status();
  EXPECT_EQ(asked.code(), absl::StatusCode::kUnavailable) << asked;
  EXPECT_THAT(std::string(asked.message()), HasSubstr("Permission denied"));
  std::filesystem::permissions(root() / "hidden", std::filesystem::perms::owner_all);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("good/1 READY", "hidden/1 READY"));
  EXPECT_TRUE(registry.repository_status().ok());
}

TEST_F(RegistryTest, ALoadedModelServesAfterItsFolderBecomesUnreadable) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::permissions(root() / "m", std::filesystem::perms::none);
  {
    const WithoutRights without;
    registry.Poll();
  }
  std::filesystem::permissions(root() / "m", std::filesystem::perms::owner_all);
  EXPECT_THAT(States(registry), ElementsAre("m/0 FAILED", "m/1 READY"));
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
}

TEST_F(RegistryTest, AnUnreadableRepositoryMakesModelsUnavailable) {
  Add("m", 1);
  std::filesystem::permissions(root(), std::filesystem::perms::none);
  Registry registry(Options(), Loader(), clock_);
  {
    const WithoutRights without;
    registry.Poll();
  }
  EXPECT_FALSE(registry.WaitForFirstPoll(absl::ZeroDuration()));
  EXPECT_EQ(registry.Find("m").status().code(), absl::StatusCode::kUnavailable) << "another replica may have the model";
  std::filesystem::permissions(root(), std::filesystem::perms::owner_all);
  registry.Poll();
  EXPECT_TRUE(registry.WaitForFirstPoll(absl::ZeroDuration()));
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
}

TEST_F(RegistryTest, ADeletedVersionServesUntilAnotherReplacesIt) {
  Add("m", 1);
  Add("m", 2);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  const auto reason = [&] { return registry.Get("m", 2)->reason; };
  EXPECT_EQ(reason(), "");
  std::filesystem::remove_all(root() / "m" / "2");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY"));
  EXPECT_THAT(reason(), HasSubstr("its folder is gone from the repository"));
  std::filesystem::remove_all(root() / "m");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY"));
  EXPECT_THAT(reason(), HasSubstr("its folder is gone from the repository"));
  Add("m", 2);
  registry.Poll();
  EXPECT_EQ(reason(), "") << "the folder exists again";
}

TEST_F(RegistryTest, NotFoundListsTheModelsAndVersions) {
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(registry.Find("x").status().ToString(), HasSubstr("the repository is empty"));
  Add("m", 4);
  registry.Poll();
  EXPECT_THAT(registry.Find("x").status().ToString(), HasSubstr("there is no model \"x\"; there is \"m\""));
  EXPECT_THAT(registry.Find("m", 7).status().ToString(),
              HasSubstr("model \"m\" has no version 7; the versions that the server loads are 4 (READY); an operator "
                        "loads others with `vitrine admin load` or --serving-config"));
  EXPECT_THAT(registry.Find("a\nb").status().ToString(), HasSubstr("\"a\\nb\"")) << "control characters are escaped";
}

TEST_F(RegistryTest, ListenersGetTheStatesAndThenTheChangesInOrder) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::vector<std::string> heard;
  const uint64_t id = registry.Subscribe([&](const v1::ModelEvent& event) {
    heard.push_back(absl::StrCat(event.version().version(), " ", v1::ModelState_Name(event.version().state()),
                                 event.removed() ? " removed" : ""));
  });
  EXPECT_THAT(heard, ElementsAre("1 READY"));
  Add("m", 2);
  registry.Poll();
  registry.Poll();
  const auto all = ElementsAre("1 READY", "2 LOADING", "2 READY", "1 RETIRING", "1 RETIRING removed");
  EXPECT_THAT(heard, all);
  registry.Unsubscribe(id);
  Add("m", 3);
  registry.Poll();
  EXPECT_THAT(heard, all);
}

TEST_F(RegistryTest, AVersionIsAlwaysReadyDuringAThousandSwaps) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::atomic<bool> stop = false;
  std::atomic<int> missing = 0, found = 0, backwards = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      int64_t last = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const auto model = registry.Find("m");
        if (!model.ok()) {
          ++missing;
          continue;
        }
        ++found;
        if ((*model)->id.version < last) ++backwards;
        last = (*model)->id.version;
        registry.List();
      }
    });
  }
  for (int version = 2; version <= 1000; ++version) {
    Add("m", version);
    registry.Poll();
    std::filesystem::remove_all(root() / "m" / std::to_string(version - 1));
  }
  stop.store(true);
  for (std::thread& thread : readers) thread.join();
  EXPECT_EQ(missing, 0);
  EXPECT_EQ(backwards, 0);
  EXPECT_GT(found, 0);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1000 READY"));
}

TEST_F(RegistryTest, StopStartsNoOtherLoad) {
  for (const char* model : {"a", "b", "c"}) Add(model, 1);
  std::unique_ptr<Registry> registry;
  std::atomic<int> loads = 0;
  std::thread stopper;
  RegistryOptions options = Options();
  options.poll_interval = absl::Milliseconds(10);
  registry = std::make_unique<Registry>(
      options,
      [&](const VersionId& id) {
        // Calls Stop in the middle of the first load, as the server does after SIGTERM.
        if (loads.fetch_add(1) == 0) stopper = std::thread([&] { registry->Stop(); });
        while (!registry->stopping()) std::this_thread::yield();
        return Load(id);
      },
      clock_);
  registry->Start();
  EXPECT_TRUE(registry->WaitForFirstPoll(absl::Seconds(20)));
  stopper.join();
  EXPECT_EQ(loads, 1);
  EXPECT_THAT(States(*registry), ElementsAre("a/1 READY"));
}

}  // namespace
}  // namespace vitrine
