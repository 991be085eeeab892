// SPDX-License-Identifier: Apache-2.0
// Tests the effect of a stalled server on percentiles. The test stops and continues a real vitrine-server with signals.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "client/load/load.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ChildServer;

constexpr int kStalls = 3;
constexpr auto kStall = std::chrono::milliseconds(200);
constexpr auto kBetween = std::chrono::milliseconds(800);
constexpr int64_t kStallNanoseconds = 200'000'000;

class StallTest : public ::testing::Test {
 protected:
  StallTest() {
    testing::PublishModel(folder_.path() / "repository", "null", testing::NullModelConfig());
    server_ = std::make_unique<ChildServer>(
        folder_.path(), std::vector<std::string>{"--repository", folder_.Path("repository"), "--listen", "127.0.0.1:0",
                                                 "--metrics", "127.0.0.1:0"});
    ClientOptions options;
    options.address = server_->AwaitReady();
    connections_ = OpenConnections(options, 2).value();
    RequestClass one;
    one.model.name = "null";
    workload_ = PrepareWorkload({one}, {}).value();
  }

  // Runs the load, and stops the server for 200 ms in every second of the measurement.
  LoadResult RunWithStalls(LoadSettings settings) {
    settings.warm_up = absl::Milliseconds(500);
    settings.duration = absl::Seconds(3);
    std::atomic<bool> over = false;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      for (int i = 0; i < kStalls && !over; ++i) {
        server_->Signal(SIGSTOP);
        std::this_thread::sleep_for(kStall);
        server_->Signal(SIGCONT);
        std::this_thread::sleep_for(kBetween);
      }
    });
    LoadResult result = RunLoad(connections_, workload_, settings, {});
    over = true;
    stopper.join();
    return result;
  }

  const ScratchFolder folder_;
  std::unique_ptr<ChildServer> server_;
  LoadConnections connections_;
  Workload workload_;
};

TEST_F(StallTest, AnOpenLoopReportsTheStallAndAClosedLoopHidesIt) {
  LoadSettings open;
  open.arrivals = [] { return ArrivalsAtRate(ArrivalProcess::kConstant, 500, 1); };
  const LoadRecord seen = RunWithStalls(open).record;
  EXPECT_EQ(seen.answered(), 1500u);
  // 300 of 1500 requests become due during a stall. p99.9 and p99 are almost as long as a stall, and p90 is a large
  // part of it.
  EXPECT_GE(seen.latency().Quantile(0.999), kStallNanoseconds * 95 / 100);
  EXPECT_GE(seen.latency().Quantile(0.99), kStallNanoseconds * 85 / 100);
  EXPECT_GE(seen.latency().Quantile(0.90), kStallNanoseconds * 35 / 100);

  LoadSettings closed;
  closed.concurrency = 1;
  const LoadRecord hidden = RunWithStalls(closed).record;
  // Only one request waits in each of the 3 stalls, because the closed loop sends the next request after its answer. 3
  // more requests may be slow because of the machine. These requests would change p99 only if there were fewer than 600
  // answers, but an answer without computation takes less than 4 ms.
  EXPECT_GE(hidden.latency().max(), kStallNanoseconds * 90 / 100);
  EXPECT_LE(hidden.latency().CountAbove(kStallNanoseconds / 4), 2u * kStalls);
  EXPECT_LT(hidden.latency().Quantile(0.90), kStallNanoseconds / 4) << hidden.answered() << " answers";
  EXPECT_LT(hidden.latency().Quantile(0.99), kStallNanoseconds / 4) << hidden.answered() << " answers";
}

}  // namespace
}  // namespace vitrine
