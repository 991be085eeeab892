// SPDX-License-Identifier: Apache-2.0
// Tests vitrine-server as a program: its flags, exit codes and shutdown.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "vitrine/v1/classifier.grpc.pb.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> Flags(const std::filesystem::path& repository) {
  return {"--repository", repository, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"};
}

// Outcomes of requests from clients that send until the server rejects them.
struct Tally {
  std::atomic<int64_t> sent = 0, answered = 0, draining = 0, gone = 0, lost = 0;
  std::atomic<bool> stop = false, ending = false;
};

void SendUntilRefused(const std::string& address, const std::string& image, Tally& tally) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub =
      v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  while (!tally.stop) {
    grpc::ClientContext context;
    v1::ClassifyResponse response;
    const grpc::Status status = stub->Classify(&context, ImageRequest("mixed", image), &response);
    ++tally.sent;
    if (status.ok()) {
      ++tally.answered;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
               status.error_message().find("draining") != std::string::npos) {
      ++tally.draining;
      return;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE && tally.ending) {
      ++tally.gone;  // the port is closed already, because this thread did not run during the drain
      return;
    } else {
      ++tally.lost;
      ADD_FAILURE() << status.error_code() << " " << status.error_message();
      return;
    }
  }
}

TEST(ServerProgram, SigtermUnderLoadLosesNoRequest) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), Flags(folder.path() / "repository"));
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  const std::string image = NoiseJpeg(32, 24, 1);
  Tally tally;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 8; ++i) callers.emplace_back([&] { SendUntilRefused(address, image, tally); });
  EXPECT_TRUE(Eventually([&] { return tally.answered > 200; }));
  tally.ending = true;
  server.Signal(SIGTERM);
  for (std::jthread& caller : callers) caller.join();
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_EQ(tally.lost.load(), 0);
  EXPECT_EQ(tally.draining + tally.gone, 8);
  EXPECT_GT(tally.draining, 0) << "the callers were told";
  const int64_t accepted = tally.sent - tally.gone;
  EXPECT_THAT(server.Output(), HasSubstr(absl::StrCat("stopped accepted=", accepted, " answered=", accepted)));
}

// Images are computed one at a time. Together they take far longer than the lame-duck time and the quiet period after
// it. The last callers arrive during the lame-duck time.
TEST(ServerProgram, QueuedRequestsAreAnsweredAfterSigterm) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "slow", SlowConfig());
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  flags.insert(flags.end(),
               {"--executors", "1", "--max-batch-tokens", "1600", "--lame-duck", "2s", "--drain-deadline", "5m"});
  ChildServer server(folder.path(), flags);
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  const std::string image = SlowImage();
  std::vector<std::jthread> callers;
  for (int i = 0; i < 24; ++i) {
    callers.emplace_back([&] {
      const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
      grpc::ClientContext context;  // without a deadline, the last requests would be rejected on slow cores
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
      v1::ClassifyResponse response;
      const grpc::Status status = stub->Classify(&context, ImageRequest("slow", image), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  EXPECT_TRUE(Eventually([&] {
    const std::string page =
        HttpExchange(server.metrics_address(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    static const std::regex kTwentyAndMore("\nvitrine_queue_depth 2[0-9]");
    return std::regex_search(page, kTwentyAndMore);
  }));
  server.Signal(SIGTERM);
  for (std::jthread& caller : callers) caller.join();
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_THAT(server.Output(), HasSubstr("stopped accepted=24 answered=24"));
}

TEST(ServerProgram, ASecondSigtermEndsTheLameDuck) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  flags.insert(flags.end(), {"--lame-duck", "10m"});
  ChildServer server(folder.path(), flags);
  const std::string address = server.AwaitReady();
  server.Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return server.Output().find("draining") != std::string::npos; }));
  // The server still serves during the lame duck.
  const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::ClassifyResponse response;
  const grpc::Status status = stub->Classify(&context, ImageRequest("mixed", NoiseJpeg(8, 8, 1)), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

// SIGHUP must not end the server: operators send it to reload files, and the kernel sends it if the terminal is lost.
TEST(ServerProgram, SighupReloadsFilesAndDoesNotEndTheServer) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  const std::filesystem::path policy = folder.path() / "policy.textproto";
  std::ofstream(policy) << "roles { name: \"all\" methods: \"/vitrine.v1.Classifier/*\" models: \"*\" }";
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  const std::filesystem::path serving = folder.path() / "serving.textproto";
  std::ofstream(serving) << "models { model: 'mixed' }";
  flags.insert(flags.end(), {"--policy", policy.string(), "--serving-config", serving.string()});
  ChildServer server(folder.path(), flags);
  ASSERT_FALSE(server.AwaitReady().empty());
  const auto page = [&](const std::string& path) {
    return HttpExchange(server.metrics_address(), "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  };
  EXPECT_THAT(page("/metrics"), HasSubstr("\nvitrine_rejected_settings 0\n"));
  for (const int ignored : {SIGUSR1, SIGUSR2, SIGALRM}) server.Signal(ignored);
  server.Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(server.Output(), "configuration read again"); }));
  std::ofstream(policy) << "roles {";
  std::ofstream(serving) << "models { model: 'mixed' version_policy { latst: 2 } }";
  server.Signal(SIGHUP);
  EXPECT_TRUE(Eventually(
      [&] { return absl::StrContains(server.Output(), "configuration read again except for faulty files"); }));
  EXPECT_THAT(server.Output(), HasSubstr("--policy"));
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(page("/metrics"), "\nvitrine_rejected_settings 2\n"); }));
  const std::string status = page("/statusz");
  EXPECT_THAT(status, HasSubstr("a settings file is rejected: --policy " + policy.string() + ": "));
  EXPECT_THAT(status, HasSubstr("a settings file is rejected: --serving-config " + serving.string() + ": "));
  EXPECT_THAT(status, HasSubstr("\"severity\": \"degraded\""));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

TEST(ServerProgram, TimeStoppedBySigstopIsNoHang) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "slow", SlowConfig());
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  flags.insert(flags.end(), {"--executors", "1", "--hung-worker-timeout", "4s"});
  ChildServer server(folder.path(), flags);
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  std::jthread caller([&] {
    for (int i = 0; i < 3; ++i) {
      grpc::ClientContext context;
      v1::ClassifyResponse response;
      const grpc::Status status = stub->Classify(&context, ImageRequest("slow", SlowImage()), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.Signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(6));
  server.Signal(SIGCONT);
  caller.join();
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(server.Output(), "the process did not run for"); }));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

TEST(ServerProgram, CheckReportsARepositoryWithoutModels) {
  const ScratchFolder folder;
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  flags.emplace_back("--check");
  std::filesystem::create_directory(folder.path() / "repository");
  ChildServer empty(folder.path(), flags);
  EXPECT_EQ(empty.Wait(), 1);
  EXPECT_THAT(empty.Output(), AllOf(HasSubstr("is empty"), HasSubstr("--allow-empty")));
  flags.emplace_back("--allow-empty");
  ChildServer allowed(folder.path(), flags);
  EXPECT_EQ(allowed.Wait(), 0) << allowed.Output();
}

// If a check by root left files behind, the server could not start later as another user.
TEST(ServerProgram, CheckLeavesNoFiles) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "repository");
  std::filesystem::create_directory(folder.path() / "state");
  std::vector<std::string> flags = Flags(folder.path() / "repository");
  flags.insert(flags.end(), {"--check", "--allow-empty", "--admin", "unix://" + folder.Path("state/admin.sock"),
                             "--audit-log", folder.Path("state/audit"), "--admin-state", folder.Path("state/state")});
  ChildServer check(folder.path(), flags);
  EXPECT_EQ(check.Wait(), 0) << check.Output();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "state"));
}

TEST(ServerProgram, TheHealthCheckNeedsHostAndPort) {
  for (const char* address : {"127.0.0.1", "21597", "http://127.0.0.1:21597"}) {
    const ScratchFolder folder;
    ChildServer check(folder.path(), {"--health-check", address});
    EXPECT_EQ(check.Wait(), 1);
    EXPECT_THAT(check.Output(), HasSubstr("it must be HOST:PORT"));
  }
}

TEST(ServerProgram, TooLittleVirtualMemoryGivesAClearError) {
  const ScratchFolder folder;
  const std::string output = folder.Path("output");
  const int status =
      std::system(absl::StrCat("ulimit -v 300000; exec " VITRINE_BIN "/vitrine-server --repository ",
                               folder.path().string(), " --listen 127.0.0.1:0 --metrics '' > ", output, " 2>&1")
                      .c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(folder.Read("output"), AllOf(HasSubstr("ulimit -v"), HasSubstr("threads with their stacks need")));
}

// Waits up to half a minute until the thread `name` of another process may run on at most `most` cores. Returns the
// cores on which the thread may run.
std::vector<int> CoresOf(pid_t pid, const std::string& name, size_t most) {
  std::vector<int> cores;
  (void)Eventually([&] {
    cores.clear();
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), gone)) {
      std::string called;
      std::getline(std::ifstream(task.path() / "comm"), called);
      cpu_set_t set;
      if (called != name || sched_getaffinity(std::stoi(task.path().filename()), sizeof(set), &set) != 0) continue;
      for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
      }
    }
    return !cores.empty() && cores.size() <= most;
  });
  return cores;
}

TEST(ServerProgram, EachPinnedExecutorHasItsOwnCore) {
  const unsigned machine = std::thread::hardware_concurrency();
  if (machine < 2) GTEST_SKIP() << "with one core there is nothing to see";
  const ScratchFolder folder;
  std::vector<std::string> flags = Flags(folder.path());
  flags.insert(flags.end(), {"--executors", "2", "--pin", "on"});
  ChildServer pinned(folder.path(), flags);
  const std::vector<int> first = CoresOf(pinned.pid(), "executor-0", 1);
  const std::vector<int> second = CoresOf(pinned.pid(), "executor-1", 1);
  ASSERT_EQ(first.size(), 1) << pinned.Output();
  ASSERT_EQ(second.size(), 1) << pinned.Output();
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace vitrine::testing
