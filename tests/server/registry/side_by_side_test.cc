// SPDX-License-Identifier: Apache-2.0
// Tests models that are loaded in parallel.
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "tests/server/registry/fake_repository.h"
#include "tests/server/registry/registry_test.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Provides loads that end only after a given number of loads has begun.
class SideBySide : public RegistryTest {
 protected:
  SideBySide() {
    for (const char* model : {"a", "b", "c"}) Add(model, 1);
    options_ = Options();
  }

  // Returns a model of 100 bytes after `begun` loads have begun. Counts the loads that run at the same time.
  absl::StatusOr<ModelHandle> LoadBeside(const VersionId& id, int begun) {
    const int running = ++running_;
    {
      const std::lock_guard lock(mutex_);
      most_ = std::max(most_, running);
    }
    ++begun_;
    EXPECT_TRUE(Eventually([&] { return begun_ >= begun; })) << "the loads do not run in parallel";
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
    model->device_bytes = 100;
    --running_;
    return model;
  }

  RegistryOptions options_;
  std::mutex mutex_;
  int most_ = 0;  // largest number of loads at the same time
  std::atomic<int> begun_ = 0;
  std::atomic<int> running_ = 0;
};

TEST_F(SideBySide, LoadsAsManyModelsAsAllowed) {
  options_.loads_at_once = 2;
  Registry registry(
      options_, [this](const VersionId& id) { return LoadBeside(id, 2); }, clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("a/1 READY", "b/1 READY", "c/1 READY"));
  EXPECT_EQ(most_, 2);
}

TEST_F(SideBySide, VersionsOfAModelAreLoadedOneByOne) {
  Add("a", 2);
  std::filesystem::remove_all(root() / "b");
  std::filesystem::remove_all(root() / "c");
  options_.keep_versions = 2;
  options_.loads_at_once = 4;
  Registry registry(
      options_, [this](const VersionId& id) { return LoadBeside(id, 1); }, clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("a/1 READY", "a/2 READY"));
  EXPECT_EQ(most_, 1);
}

TEST_F(SideBySide, AFailedLoadReleasesItsMemoryClaim) {
  std::filesystem::remove_all(root() / "c");
  options_.loads_at_once = 1;
  options_.max_memory_bytes = 100;
  bool first = true;
  const auto load = [&](const VersionId& id) -> absl::StatusOr<ModelHandle> {
    if (std::exchange(first, false)) return absl::DataLossError("damaged");
    return LoadBeside(id, 1);
  };
  Registry registry(options_, {.load = load, .bytes_of = [](const VersionId&) { return 100; }}, clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("a/1 FAILED", "b/1 READY"));
}

TEST_F(SideBySide, ParallelLoadsStayWithinTheMemoryLimit) {
  std::filesystem::remove_all(root() / "c");
  options_.loads_at_once = 2;
  options_.max_memory_bytes = 199;
  Registry* seen = nullptr;
  // Makes the load of one version end only after the other version was rejected.
  const auto load = [&](const VersionId& id) {
    EXPECT_TRUE(Eventually([&] {
      const std::vector<VersionStatus> versions = seen->List();
      return std::any_of(versions.begin(), versions.end(),
                         [](const VersionStatus& version) { return version.state == v1::FAILED; });
    }));
    return LoadBeside(id, 1);
  };
  Registry registry(options_, {.load = load, .bytes_of = [](const VersionId&) { return 100; }}, clock_);
  seen = &registry;
  registry.Poll();
  std::vector<std::string> reasons;
  for (const VersionStatus& version : registry.List()) reasons.push_back(version.reason);
  EXPECT_THAT(reasons,
              ::testing::UnorderedElementsAre("", HasSubstr("it needs 100 bytes in addition to 100 in memory")));
}

TEST_F(SideBySide, LoadsShareTheCoresBeforeAnyVersionServes) {
  options_.loads_at_once = 4;
  std::atomic<int> asked = 0;
  std::vector<int> cores;
  Registry* seen = nullptr;
  const auto load = [&](const VersionId& id) {
    absl::StatusOr<ModelHandle> model = LoadBeside(id, 3);
    {
      const std::lock_guard lock(mutex_);
      cores.push_back(seen->CoresPerLoad());
    }
    ++asked;
    EXPECT_TRUE(Eventually([&] { return asked >= 3; }));
    return model;
  };
  Registry registry(options_, load, clock_);
  seen = &registry;
  EXPECT_EQ(registry.CoresPerLoad(), 4) << "a single load has all cores";
  registry.Poll();
  EXPECT_THAT(cores, ElementsAre(1, 1, 1)) << "three loads share four cores";
  EXPECT_EQ(registry.CoresPerLoad(), 1) << "once versions serve, a load has one core";
}

}  // namespace
}  // namespace vitrine
