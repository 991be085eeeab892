// SPDX-License-Identifier: Apache-2.0
// Simulates a worker thread that hangs: ptrace stops this thread, and the other threads of the process continue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the ID of the thread with this name, or -1 if there is none.
pid_t ThreadOf(pid_t process, const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", process, "/task"))) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    if (comm == name) return std::stoi(task.path().filename());
  }
  return -1;
}

// A traced thread of a child process. Only the thread that constructed the object may call its methods, because ptrace
// requires this.
class TracedThread {
 public:
  explicit TracedThread(pid_t thread) : thread_(thread) { is_ours_ = ptrace(PTRACE_SEIZE, thread, 0, 0) == 0; }

  bool is_ours() const { return is_ours_; }
  void Stop() const {
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, thread_, 0, 0), 0);
    int status = 0;
    EXPECT_EQ(waitpid(thread_, &status, __WALL), thread_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  void Continue() const { EXPECT_EQ(ptrace(PTRACE_CONT, thread_, 0, 0), 0); }
  // Returns true if the thread waits in poll(), where it holds no lock that other threads need. Requires that the
  // thread is stopped.
  bool IsInPoll(pid_t process) const {
    long call = -1;
    std::ifstream(absl::StrCat("/proc/", process, "/task/", thread_, "/syscall")) >> call;
#ifdef SYS_poll
    if (call == SYS_poll) return true;
#endif
    return call == SYS_ppoll;
  }
  bool HasEnded() const {
    int status = 0;
    return waitpid(thread_, &status, __WALL | WNOHANG) == thread_ && !WIFSTOPPED(status);
  }
  // Reaps the thread. Until then the parent is not notified of the process's exit.
  void AwaitEnd() const {
    int status = 0;
    EXPECT_EQ(waitpid(thread_, &status, __WALL), thread_);
  }

 private:
  pid_t thread_;
  bool is_ours_ = false;
};

// Clients that send requests without a pause, so that the executor computes a batch most of the time.
class Callers {
 public:
  explicit Callers(const std::string& address) {
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this, address] { Run(address); });
  }
  ~Callers() { stop_ = true; }

 private:
  void Run(const std::string& address) const {
    const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    // The image is small, so that a batch that was stopped for half of the timeout can still end within the other half.
    const v1::ClassifyRequest request = ImageRequest("slow", NoiseJpeg(80, 80, 1));
    while (!stop_) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
      v1::ClassifyResponse response;
      stub->Classify(&context, request, &response);
    }
  }

  std::atomic<bool> stop_ = false;
  std::vector<std::jthread> threads_;
};

TEST(Hang, AHangingWorkerMakesTheServerNotReadyAndEndsTheProcess) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "slow", SlowConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0", "--executors", "1", "--hung-worker-timeout", "4s"});
  const Callers callers(server.AwaitReady());
  const auto get = [&](const std::string& page) {
    return HttpExchange(server.metrics_address(),
                        absl::StrCat("GET ", page, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  };
  const pid_t thread = ThreadOf(server.pid(), "executor-0");
  ASSERT_GT(thread, 0) << "there is no thread with this name";
  const TracedThread executor(thread);
  if (!executor.is_ours()) GTEST_SKIP() << "this machine does not let a process trace its child";

  // Stops the executor within a batch, because an executor that is stopped between two batches does not count as hung.
  const auto stop_in_a_batch = [&] {
    executor.Stop();
    const bool waits =
        get("/metrics").find("vitrine_executor_batch_age_seconds{executor=\"0\"} 0\n") != std::string::npos;
    if (waits) executor.Continue();
    return !waits;
  };
  ASSERT_TRUE(Eventually(stop_in_a_batch));
  std::string answer;
  EXPECT_TRUE(Eventually([&] { return (answer = get("/readyz")).starts_with("HTTP/1.1 503 "); })) << answer;
  EXPECT_THAT(answer, HasSubstr("an executor hangs"));
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 ")) << "only the watchdog may cause a restart";
  executor.Continue();
  EXPECT_TRUE(Eventually([&] { return get("/readyz").starts_with("HTTP/1.1 200 "); }))
      << "the server is not ready after the end of the batch";

  ASSERT_TRUE(Eventually(stop_in_a_batch));
  executor.AwaitEnd();
  EXPECT_EQ(server.Wait(), 3);
  EXPECT_THAT(server.Output(), HasSubstr("hung: a batch has been running for "));
}

// Simulates a repository on a file system that does not respond, with a loading thread that blocks forever.
TEST(Hang, AHangingLoadDoesNotPreventTheEndOfTheProcess) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0", "--poll-interval", "1h"});
  const auto stub =
      v1::Classifier::NewStub(grpc::CreateChannel(server.AwaitReady(), grpc::InsecureChannelCredentials()));
  const TracedThread loader(ThreadOf(server.pid(), "registry"));
  if (!loader.is_ours()) GTEST_SKIP() << "this machine does not let a process trace its child";
  ASSERT_TRUE(Eventually([&] {
    loader.Stop();
    if (loader.IsInPoll(server.pid())) return true;
    loader.Continue();
    return false;
  }));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::ClassifyResponse response;
  EXPECT_TRUE(stub->Classify(&context, ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
  server.Signal(SIGTERM);
  if (!Eventually([&] { return loader.HasEnded(); })) {
    server.Signal(SIGKILL);
    loader.AwaitEnd();
  }
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Output(), HasSubstr("stopped accepted=1 answered=1"));
}

}  // namespace
}  // namespace vitrine::testing
