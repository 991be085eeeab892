// SPDX-License-Identifier: Apache-2.0
// Tests two servers, one per GPU of the fake driver, and a client that distributes its requests over both. A GPU that
// is lost under load ends only its own server, and no request fails. The GPU serves again after a supervisor has
// restarted its server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lib/client.h"
#include "server/process/end_process.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"

namespace vitrine::testing {
namespace {

constexpr int kCallers = 4;
constexpr size_t kStreamed = 100;

class TwoGpus : public ::testing::Test {
 protected:
  TwoGpus() {
    setenv("LD_LIBRARY_PATH", VITRINE_TESTS "/cuda", 1);
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
  }
  ~TwoGpus() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("VITRINE_FAKE_GPU");
  }

  // Starts the server of the GPU number `card` as deploy/systemd does. `settings` are for the fake driver. Only the
  // server that is to lose its GPU gets a short `timeout`, because the emulator can take long for a batch.
  std::unique_ptr<ChildServer> Start(int card, const std::string& listen, const std::string& settings = "",
                                     const std::string& timeout = "60s") const {
    setenv("VITRINE_FAKE_GPU", absl::StrCat("devices=2", settings).c_str(), 1);
    const std::filesystem::path output = folder_.path() / absl::StrCat(card);
    std::filesystem::create_directories(output);
    return std::make_unique<ChildServer>(
        output, std::vector<std::string>{"--repository", folder_.path() / "repository", "--listen", listen, "--metrics",
                                         "127.0.0.1:0", "--device", absl::StrCat("cuda:", card), "--probe-interval",
                                         "1s", "--device-batch-timeout", timeout});
  }

  const ScratchFolder folder_;
};

// Several threads send calls until End is called, and one thread sends a stream of kStreamed requests. Counts failures,
// and the answers of each GPU.
class Load {
 public:
  explicit Load(Client& client) : client_(client) {
    for (int i = 0; i < kCallers; ++i) threads_.emplace_back([this] { Call(); });
    threads_.emplace_back([this] { Stream(); });
  }
  ~Load() { End(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  int answers(int card) const { return answers_[card]; }
  int failures() const { return failures_; }
  size_t streamed() const { return streamed_; }
  void End() {
    ending_ = true;
    threads_.clear();
  }

 private:
  void Count(const absl::StatusOr<v1::ClassifyResponse>& answer) {
    if (answer.ok()) {
      ++answers_[answer->served_by().device() == "cuda:0" ? 0 : 1];
    } else {
      ++failures_;
      ADD_FAILURE() << answer.status();
    }
  }
  void Call() {
    while (!ending_) Count(client_.Classify(request_));
  }
  // A stream stays with one server as long as this server serves.
  void Stream() {
    size_t sent = 0;
    const absl::Status status = client_.ClassifyMany(
        [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
          if (sent++ == kStreamed) return std::nullopt;
          return request_;
        },
        [&](size_t /*index*/, const absl::StatusOr<v1::ClassifyResponse>& answer) {
          ++streamed_;
          Count(answer);
        });
    EXPECT_TRUE(status.ok()) << status;
  }

  Client& client_;
  const v1::ClassifyRequest request_ = ImageRequest("mixed", NoiseJpeg(24, 16, 1));
  std::atomic<int> answers_[2] = {};
  std::atomic<int> failures_ = 0;
  std::atomic<size_t> streamed_ = 0;
  std::atomic<bool> ending_ = false;
  std::vector<std::jthread> threads_;  // last member, because the threads use the counters
};

class TwoGpusUnderLoad : public TwoGpus, public ::testing::WithParamInterface<const char*> {};

TEST_P(TwoGpusUnderLoad, LosingOneLosesNoAnswer) {
  const std::unique_ptr<ChildServer> good = Start(1, "127.0.0.1:0");
  const std::string good_address = good->AwaitReady(absl::Minutes(1));
  // Golden checks and periodic probes also count towards the launch or kernel at which the driver fails. So this server
  // starts last, to fail during the client's requests.
  std::unique_ptr<ChildServer> bad = Start(0, "127.0.0.1:0", GetParam(), "5s");
  const std::string bad_address = bad->AwaitReady(absl::Minutes(1));
  ClientOptions options;
  options.address = absl::StrCat(bad_address, ",", good_address);
  options.max_in_flight = 4;
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();

  Load load(**client);
  EXPECT_EQ(bad->Wait(), kExitDevice) << bad->Output();
  EXPECT_GT(load.answers(0), 0);
  EXPECT_GT(load.answers(1), 0);

  const int before = load.answers(0);
  bad = Start(0, bad_address);
  bad->AwaitReady(absl::Minutes(1));
  EXPECT_TRUE(Eventually([&] { return load.answers(0) > before + 10; }, absl::Minutes(1))) << bad->Output();
  load.End();
  EXPECT_EQ(load.failures(), 0);
  EXPECT_EQ(load.streamed(), kStreamed);
  good->Signal(SIGTERM);
  EXPECT_EQ(good->Wait(), 0) << good->Output();
}

// The driver loses the GPU at the 25th launch, or the 700th kernel never ends.
INSTANTIATE_TEST_SUITE_P(Losses, TwoGpusUnderLoad, ::testing::Values(",lost=25", ",hang=700"),
                         [](const auto& test) { return test.index == 0 ? "Sticky" : "Hang"; });

}  // namespace
}  // namespace vitrine::testing
