// SPDX-License-Identifier: Apache-2.0
// Tests the end of the server (SIGTERM) during a load. The call of an operator who waits for the load must neither hang
// nor report success.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "tests/server/logged.h"
#include "tests/server/registry/registry_test.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StopDuringALoad : public RegistryTest {
 protected:
  // Makes the first load fail, and each later load last until the server ends.
  StopDuringALoad() {
    Add("m", 1);
    bad.insert({"m", 1});
    RegistryOptions options = Options();
    options.poll_interval = absl::Hours(1);
    const auto load = [this](const VersionId& id) {
      if (lasts_) loading_ = true;
      while (lasts_ && !registry_->stopping()) std::this_thread::yield();
      return Load(id);
    };
    registry_ = std::make_unique<Registry>(options, load, clock_);
  }

  absl::Status ReconcileUntilTheEnd() {
    bad.clear();
    lasts_ = true;
    absl::Status waited;
    std::thread operator_thread([&] { waited = registry_->Reconcile({{"m", 1}}); });
    while (!loading_) std::this_thread::yield();
    registry_->Stop();
    operator_thread.join();
    return waited;
  }

  std::atomic<bool> lasts_ = false;
  std::atomic<bool> loading_ = false;
  std::unique_ptr<Registry> registry_;
};

TEST_F(StopDuringALoad, IsReportedToACallThatWaitsForAPoll) {
  registry_->Start();
  ASSERT_TRUE(registry_->WaitForFirstPoll(absl::Seconds(20)));
  ASSERT_THAT(States(*registry_), ElementsAre("m/1 FAILED"));
  EXPECT_EQ(ReconcileUntilTheEnd().code(), absl::StatusCode::kUnavailable)
      << "the call fails although the load itself succeeds";
  EXPECT_EQ(registry_->Reconcile().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StopDuringALoad, IsReportedToACallThatPollsItself) {
  registry_->Poll();
  ASSERT_THAT(States(*registry_), ElementsAre("m/1 FAILED"));
  EXPECT_EQ(ReconcileUntilTheEnd().code(), absl::StatusCode::kUnavailable);
}

class LogLoading : public RegistryTest {
 protected:
  std::string LogOf(const Registry& registry) {
    return Logged("info", "text", [&] { registry.LogLoading(); });
  }
};

TEST_F(LogLoading, NamesAVersionBeforeAndAfterItsSizeIsKnown) {
  Add("m", 1);
  const Registry* seen = nullptr;
  std::string while_sized, while_loaded;
  const auto size = [&](const VersionId& /*id*/) {
    while_sized = LogOf(*seen);
    return 100;
  };
  const auto load = [&](const VersionId& id) {
    while_loaded = LogOf(*seen);
    return Load(id);
  };
  Registry registry(Options(), {.load = load, .bytes_of = size}, clock_);
  seen = &registry;
  registry.Poll();
  const std::string warning = "the process ends while versions are loading versions=m/1";
  EXPECT_THAT(while_sized, HasSubstr(warning));
  EXPECT_THAT(while_loaded, HasSubstr(warning));
  EXPECT_EQ(LogOf(registry), "");
}

}  // namespace
}  // namespace vitrine
