// SPDX-License-Identifier: Apache-2.0
// Tests swaps of many versions under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

// A thousand versions take half a minute. Every version is published with fsync, found by a poll of the registry (at
// most a hundred polls per second), verified, built and run on its golden images. `script/prove swaps` sets larger
// numbers with the environment variables that are named below.
constexpr int kSwaps = 60;  // VITRINE_SWAPS
// VITRINE_SWAP_REQUESTS: minimum number of requests. Callers and version changes continue until it is reached.
constexpr int64_t kRequests = 0;
constexpr int kCallers = 2;
// The weights of version v come from seed v modulo kSeeds, so consecutive versions differ.
constexpr int kSeeds = 4;

int OpenFiles() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// Returns the sorted names of all threads except the threads of gRPC's pools, because the sizes of these pools change.
std::vector<std::string> Threads() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    const bool pooled = absl::StartsWith(name, "grpc_global_tim") || absl::StartsWith(name, "event_engine") ||
                        absl::StartsWith(name, "default-exec") || absl::StartsWith(name, "resolver-exec") ||
                        absl::StartsWith(name, "grpcpp_sync_ser");
    if (!pooled) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// Sums over all clients of a run.
struct Seen {
  std::atomic<bool> stop = false;
  std::atomic<int64_t> newest = 1;
  std::atomic<int64_t> sent = 0, lost = 0, wrong = 0, unready = 0;
};

void Call(RunningServer& running, const std::string& image, const std::vector<std::vector<float>>& expected,
          Seen& seen) {
  while (!seen.stop) {
    const int64_t before = seen.newest;
    v1::ClassifyResponse response;
    const grpc::Status status = running.Classify(ImageRequest("mixed", image), &response);
    ++seen.sent;
    if (!status.ok()) {
      ++seen.lost;
      ADD_FAILURE() << "a request failed during a swap: " << status.error_message();
      continue;
    }
    const int64_t version = response.served_by().version();
    EXPECT_GE(version, before) << "an old version served after a newer one";
    const v1::Prediction& best = response.predictions(0);
    if (std::abs(best.logit() - expected[version % kSeeds][best.index()]) > 1e-4) {
      ++seen.wrong;
      ADD_FAILURE() << "the answer is not that of version " << version;
    }
    int64_t newest = seen.newest;
    while (newest < version && !seen.newest.compare_exchange_weak(newest, version)) {
    }
  }
}

TEST(Swaps, SwapsUnderLoadLoseNoRequestAndLeakNothing) {
  const ScratchFolder folder;
  const std::string image = NoiseJpeg(32, 24, 3);
  std::vector<std::vector<float>> expected;
  for (int seed = 0; seed < kSeeds; ++seed) {
    expected.push_back(LogitsAlone(HashedModel(MixedConfig(), seed), image));
  }
  PublishModel(folder.path(), "mixed", MixedConfig(), 1);
  ServerOptions options = TestOptions(folder.path());
  options.registry.poll_interval = absl::Milliseconds(10);
  RunningServer running(options);
  v1::ClassifyResponse response;
  ASSERT_TRUE(running.Classify(ImageRequest("mixed", image), &response).ok());
  const int files = OpenFiles();
  const std::vector<std::string> threads = Threads();

  const int64_t swaps = FromEnvironment("VITRINE_SWAPS", kSwaps);
  const int64_t requests = FromEnvironment("VITRINE_SWAP_REQUESTS", kRequests);
  Seen seen;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) callers.emplace_back([&] { Call(running, image, expected, seen); });
    callers.emplace_back([&] {
      while (!seen.stop) {
        seen.unready += !absl::StartsWith(running.Get("/readyz"), "HTTP/1.1 200 ");
        // Limits the rate of polls, because each poll uses a new connection, and Linux blocks each of its 28,000
        // ephemeral ports for a minute after use.
        absl::SleepFor(absl::Milliseconds(2));
      }
    });
    for (int64_t version = 2; (version <= 1 + swaps || seen.sent < requests) && !::testing::Test::HasFailure();
         ++version) {
      PublishModel(folder.path(), "mixed", MixedConfig(), version % kSeeds);
      EXPECT_TRUE(Eventually([&] { return seen.newest == version; })) << "version " << version << " never served";
      std::filesystem::remove_all(folder.path() / "mixed" / std::to_string(version - 1));
    }
    seen.stop = true;
  }
  std::cout << "swaps=" << seen.newest - 1 << " requests=" << seen.sent << " lost=" << seen.lost
            << " wrong=" << seen.wrong << " unready=" << seen.unready << "\nnote: " << kCallers
            << " callers over gRPC, every logit compared with that of the version claimed, within 1e-4\n";
  EXPECT_EQ(seen.unready, 0) << "at some time no version was ready";
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  EXPECT_TRUE(Eventually([&] { return OpenFiles() <= files; })) << OpenFiles() << " files are open, before " << files;
  // The threads must be the same as before. Polls, because a new thread briefly has its parent's name.
  std::vector<std::string> named = threads;
  std::erase(named, "faults_test");
  const auto as_before = [&] {
    const std::vector<std::string> now = Threads();
    return now.size() <= threads.size() && std::ranges::includes(now, named);
  };
  EXPECT_TRUE(Eventually(as_before)) << ::testing::PrintToString(Threads()) << ", before "
                                     << ::testing::PrintToString(threads);
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, seen.sent + 1);
  EXPECT_EQ(counts.answered, counts.accepted);
}

}  // namespace
}  // namespace vitrine::testing
