// SPDX-License-Identifier: Apache-2.0
#include "server/registry/registry.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
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

// A folder that looks like a repository to the registry, and a loader that refuses on demand.
class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vitrine-registry-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(root());
  }
  ~RegistryTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path root() const { return folder_ / "repository"; }

  void Add(const std::string& model, int64_t version, const std::string& manifest = "manifest") {
    const std::filesystem::path folder = root() / model / std::to_string(version);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "manifest.textproto") << manifest;
  }

  absl::StatusOr<ModelHandle> Load(const VersionId& id) {
    loads_.push_back(absl::StrCat(id.model, "/", id.version));
    if (bad_.contains(id)) return absl::FailedPreconditionError(absl::StrCat("weights.safetensors of ", id.version));
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
    std::ifstream(root() / id.model / std::to_string(id.version) / "manifest.textproto") >> model->weights_sha256;
    return model;
  }

  RegistryOptions Options(int keep = 1) {
    RegistryOptions options;
    options.root = root();
    options.keep_versions = keep;
    return options;
  }
  Registry::Loader Loader() {
    return [this](const VersionId& id) { return Load(id); };
  }

  // "m/1 READY" for every version known.
  static std::vector<std::string> States(const Registry& registry) {
    std::vector<std::string> states;
    for (const VersionStatus& status : registry.List()) {
      states.push_back(absl::StrCat(status.id.model, "/", status.id.version, " ", v1::ModelState_Name(status.state)));
    }
    return states;
  }

  std::filesystem::path folder_;
  FakeClock clock_;
  std::set<VersionId> bad_;
  std::vector<std::string> loads_;
};

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
  EXPECT_THAT(loads_, ElementsAre("a/12", "b/3")) << "a second look must load nothing";
}

TEST_F(RegistryTest, EveryAttemptToLoadIsTold) {
  Add("m", 1);
  Add("m", 2);
  bad_.insert({"m", 2});
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

TEST_F(RegistryTest, SaysThatItIsStillLoadingUntilTheFirstLookIsDone) {
  Add("a", 1);
  Registry registry(Options(), Loader(), clock_);
  // Another replica may have the model: not NOT_FOUND, which nobody tries again.
  EXPECT_EQ(registry.Find("a").status().code(), absl::StatusCode::kUnavailable);
  registry.Poll();
  EXPECT_EQ(registry.Find("b").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RegistryTest, SwapsWhileTheOldVersionIsHeld) {
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

// A version that calls `freed` on the thread that frees it.
ModelHandle Tracked(const VersionId& id, std::function<void()> freed) {
  auto model = std::make_unique<LoadedModel>();
  model->id = id;
  return {model.release(), [freed = std::move(freed)](const LoadedModel* held) {
            delete held;
            freed();
          }};
}

// To free a large model takes long, and an executor that does it answers nobody meanwhile.
TEST_F(RegistryTest, WhoDropsTheLastHandleOfAnOldVersionDoesNotFreeIt) {
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
  ASSERT_EQ(where.wait_for(std::chrono::minutes(1)), std::future_status::ready) << "it is freed, and soon";
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

TEST_F(RegistryTest, KeepsAsManyVersionsAsTold) {
  for (int version = 1; version <= 3; ++version) Add("m", version);
  Registry registry(Options(2), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY", "m/3 READY"));
  EXPECT_EQ(registry.Find("m", 2).value()->id.version, 2);
}

TEST_F(RegistryTest, ABadVersionLeavesTheOldOneServing) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  Add("m", 2);
  bad_.insert({"m", 2});
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY", "m/2 FAILED"));
  EXPECT_THAT(registry.Get("m", 2).value().reason, HasSubstr("weights.safetensors"));
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
  EXPECT_THAT(registry.Find("m", 2).status().ToString(), HasSubstr("version 2 is not ready"));
}

TEST_F(RegistryTest, FallsBackToAnOlderVersionAtStart) {
  Add("m", 1);
  Add("m", 2);
  bad_.insert({"m", 2});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY", "m/2 FAILED"));
}

TEST_F(RegistryTest, RetriesAfterADelayThatDoubles) {
  Add("m", 1);
  bad_.insert({"m", 1});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  registry.Poll();
  EXPECT_EQ(loads_.size(), 1) << "no retry before its time";
  clock_.Advance(absl::Seconds(2));
  registry.Poll();
  EXPECT_EQ(loads_.size(), 2);
  clock_.Advance(absl::Seconds(2));
  registry.Poll();
  EXPECT_EQ(loads_.size(), 2) << "the second delay is twice the first";
  clock_.Advance(absl::Seconds(2));
  bad_.clear();
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(absl::Minutes(10));
    registry.Poll();
  }
  EXPECT_EQ(loads_.size(), 3) << "a version that is ready is not loaded again";
}

TEST_F(RegistryTest, RetriesAtOnceWhenTheManifestChanges) {
  Add("m", 1);
  bad_.insert({"m", 1});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  bad_.clear();
  Add("m", 1, "another manifest");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
}

TEST_F(RegistryTest, AFailedVersionThatIsRemovedIsForgotten) {
  Add("m", 1);
  bad_.insert({"m", 1});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::remove_all(root() / "m");
  registry.Poll();
  EXPECT_THAT(States(registry), IsEmpty());
}

TEST_F(RegistryTest, FilesThatWereReplacedAreLoadedAndWhoHoldsTheOldOnesKeepsThem) {
  Add("m", 1, "old");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  registry.Poll();
  EXPECT_THAT(loads_, ElementsAre("m/1")) << "what nobody touched is loaded once";
  const ModelHandle held = registry.Find("m").value();
  std::filesystem::remove_all(root() / "m" / "1");
  Add("m", 1, "new");
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "new");
  EXPECT_EQ(held->weights_sha256, "old");
  registry.Poll();
  EXPECT_THAT(loads_, ElementsAre("m/1", "m/1"));
}

TEST_F(RegistryTest, WeightsThatWereReplacedAreNoticed) {
  Add("m", 1);
  const std::filesystem::path weights = root() / "m" / "1" / "weights.safetensors";
  std::ofstream(weights) << "old";
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::ofstream(weights) << "others";
  registry.Poll();
  EXPECT_THAT(loads_, ElementsAre("m/1", "m/1"));
}

TEST_F(RegistryTest, FilesThatWereOnlyTouchedChangeNothing) {
  Add("m", 1, "same");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  const ModelHandle held = registry.Find("m").value();
  Add("m", 1, "same");
  registry.Poll();
  EXPECT_EQ(loads_.size(), 2U);
  EXPECT_EQ(registry.Find("m").value(), held);
}

TEST_F(RegistryTest, FilesThatWereReplacedByBadOnesLeaveTheLoadedVersionServing) {
  Add("m", 1, "old");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  bad_.insert({"m", 1});
  Add("m", 1, "broken");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "old");
  bad_.clear();
  Add("m", 1, "mended");
  registry.Poll();
  EXPECT_EQ(loads_.size(), 2U) << "it was tried again before the delay was over";
  clock_.Advance(absl::Seconds(2));
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "mended");
}

TEST_F(RegistryTest, AVanishedRepositoryLeavesTheLastGoodVersionServing) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::rename(root(), folder_ / "away");
  registry.Poll();
  EXPECT_FALSE(registry.repository_status().ok());
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
  std::filesystem::rename(folder_ / "away", root());
  Add("m", 2);
  registry.Poll();
  EXPECT_TRUE(registry.repository_status().ok());
  EXPECT_EQ(registry.Find("m").value()->id.version, 2);
}

TEST_F(RegistryTest, AModelThatCannotBeReadIsListedAsFailedUntilItCan) {
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

TEST_F(RegistryTest, AModelThatCannotBeReadAnyMoreServesOn) {
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

TEST_F(RegistryTest, ARepositoryThatCannotBeReadAtTheStartMayHoldAnything) {
  Add("m", 1);
  std::filesystem::permissions(root(), std::filesystem::perms::none);
  Registry registry(Options(), Loader(), clock_);
  {
    const WithoutRights without;
    registry.Poll();
  }
  EXPECT_FALSE(registry.WaitForFirstPoll(absl::ZeroDuration()));
  EXPECT_EQ(registry.Find("m").status().code(), absl::StatusCode::kUnavailable) << "another replica may have it";
  std::filesystem::permissions(root(), std::filesystem::perms::owner_all);
  registry.Poll();
  EXPECT_TRUE(registry.WaitForFirstPoll(absl::ZeroDuration()));
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
}

TEST_F(RegistryTest, ARepositoryThatGoesBackLeavesTheLastGoodVersionServing) {
  Add("m", 1);
  Add("m", 2);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::remove_all(root() / "m" / "2");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY"));
  std::filesystem::remove_all(root() / "m");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/2 READY"));
}

TEST_F(RegistryTest, NotFoundSaysWhatThereIs) {
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(registry.Find("x").status().ToString(), HasSubstr("the repository is empty"));
  Add("m", 4);
  registry.Poll();
  EXPECT_THAT(registry.Find("x").status().ToString(), HasSubstr("there is no model \"x\"; there is \"m\""));
  EXPECT_THAT(registry.Find("m", 7).status().ToString(),
              HasSubstr("model \"m\" has no version 7; its versions are 4 (READY)"));
  EXPECT_THAT(registry.Find("a\nb").status().ToString(), HasSubstr("\"a\\nb\"")) << "control characters are escaped";
}

TEST_F(RegistryTest, ListenersHearWhatIsAndThenWhatChangesInOrder) {
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

TEST_F(RegistryTest, NoMomentWithoutAReadyVersionDuringAThousandSwaps) {
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

TEST_F(RegistryTest, StartPollsAndStopBeginsNoOtherLoad) {
  for (const char* model : {"a", "b", "c"}) Add(model, 1);
  std::unique_ptr<Registry> registry;
  std::atomic<int> loads = 0;
  std::thread stopper;
  RegistryOptions options = Options();
  options.poll_interval = absl::Milliseconds(10);
  registry = std::make_unique<Registry>(
      options,
      [&](const VersionId& id) {
        // SIGTERM in the middle of the first load.
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

TEST(RegistryOptions, RefusalsNameTheFieldAndTheRange) {
  RegistryOptions options;
  EXPECT_THAT(options.Validate().ToString(), HasSubstr("folder is not named"));
  options.root = "/tmp";
  EXPECT_TRUE(options.Validate().ok());
  options.poll_interval = absl::ZeroDuration();
  EXPECT_THAT(options.Validate().ToString(), HasSubstr("poll_interval is 0; it must be 10 ms to 1 h"));
  options.poll_interval = absl::Seconds(1);
  options.keep_versions = 0;
  EXPECT_THAT(options.Validate().ToString(), HasSubstr("keep_versions is 0"));
}

}  // namespace
}  // namespace vitrine
