// SPDX-License-Identifier: Apache-2.0
// Tests the end of the server (SIGTERM) while an operator waits for a load. The operator's call must neither hang nor
// report success.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/server/registry/registry_test.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

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

}  // namespace
}  // namespace vitrine
