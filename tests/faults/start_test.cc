// SPDX-License-Identifier: Apache-2.0
// Tests the program in conditions in which scripts and supervisors start it: closed standard files, a full disk, a
// wrong configuration, a limit on CPUs or threads. Also tests that a crash prints a stack and ends the program with the
// signal, and that SIGTERM ends the program while it loads models.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/quota_group.h"
#include "tests/read_file.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A shell command in which $SERVER starts the program on a free port.
class Shell {
 public:
  Shell(const std::filesystem::path& folder, const std::string& command) : ports_(folder / "ports") {
    setenv("SERVER",
           absl::StrCat(VITRINE_BIN "/vitrine-server --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file ",
                        ports_.string(), " --repository ", (folder / "repository").string())
               .c_str(),
           1);
    output_ = folder / "output";
    pid_ = fork();
    if (pid_ == 0) {
      const int file = open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, STDOUT_FILENO);
      dup2(file, STDERR_FILENO);
      close(file);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Shell() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Returns the address of the gRPC service from the port file; empty if the program ends first, or if the address does
  // not appear in time.
  std::string AwaitAddress() { return AwaitPort("grpc="); }
  std::string AwaitMetricsAddress() { return AwaitPort("metrics="); }
  // Returns the target of the program's file descriptor `number`. Requires that the command uses `exec` to start the
  // program.
  std::string OpenFile(int number) const {
    std::error_code none;
    return std::filesystem::read_symlink(absl::StrCat("/proc/", pid_, "/fd/", number), none).string();
  }
  void Signal(int signal) const { kill(pid_, signal); }
  int Wait() {
    if (!Eventually([&] { return Ended(); }, absl::Minutes(1))) return -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  std::string Output() const { return ReadFile(output_); }

 private:
  bool Ended() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  // Returns the value of `name` in the port file; empty if the program ends first, or if it does not appear in time.
  std::string AwaitPort(const std::string& name) {
    std::string text;
    size_t at = std::string::npos;
    Eventually([&] { return Ended() || (at = (text = ReadFile(ports_)).find(name)) != std::string::npos; });
    if (at == std::string::npos) return "";
    at += name.size();
    return text.substr(at, text.find('\n', at) - at);
  }

  std::filesystem::path ports_, output_;
  pid_t pid_ = -1;
  int status_ = 0;
};

// Returns a prefix for a shell command. The command then runs as a user who has no other processes and may have
// `threads` threads. The limit does not apply to root. The user may read all files, as the build may be in a private
// folder.
std::string WithThreads(int threads) {
  return absl::StrCat("prlimit --nproc=", threads, " setpriv --reuid=", 50'000 + getpid() % 10'000,
                      " --clear-groups --inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override ");
}

bool CanLimitThreads() {
  return std::system((WithThreads(1) + "true 2>/dev/null").c_str()) == 0;
}

grpc::Status Classify(const std::string& address) {
  const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::ClassifyResponse response;
  return stub->Classify(&context, ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
}

// Expects that the server answers. Waits for the first answer, because the model may still be loading when the port
// file appears.
void ExpectServes(Shell& shell) {
  const std::string address = shell.AwaitAddress();
  grpc::Status status;
  EXPECT_TRUE(Eventually([&] { return (status = Classify(address)).ok(); })) << status.error_message();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Classify(address).ok());
}

class ServerStart : public ::testing::Test {
 protected:
  ServerStart() { PublishModel(folder_.path() / "repository", "mixed", MixedConfig()); }
  ScratchFolder folder_;
};

TEST_F(ServerStart, ServesWithEveryStandardFileClosed) {
  Shell shell(folder_.path(), "exec $SERVER --log-level debug --log-requests all <&- >&- 2>&-");
  ExpectServes(shell);
  // The server must have opened these descriptors again. Otherwise log lines would be written to the next opened file,
  // for instance to a connection.
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) EXPECT_EQ(shell.OpenFile(file), "/dev/null");
  shell.Signal(SIGTERM);
  EXPECT_EQ(shell.Wait(), 0);
}

TEST_F(ServerStart, ServesIfTheDiskOfTheLogIsFull) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "this machine has no /dev/full";
  Shell shell(folder_.path(), "exec $SERVER --log-level debug --log-requests all >/dev/full 2>&1");
  ExpectServes(shell);
  const std::string lost = "\nvitrine_log_lines_lost_total ";
  const std::string scrape =
      HttpExchange(shell.AwaitMetricsAddress(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const size_t at = scrape.find(lost);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(scrape[at + lost.size()], '0') << "the lost log lines were not counted";
  shell.Signal(SIGTERM);
  EXPECT_EQ(shell.Wait(), 0);
}

TEST_F(ServerStart, CheckAcceptsAValidConfigurationAndDoesNotServe) {
  Shell shell(folder_.path(), "$SERVER --check --http 127.0.0.1:0 --health-listen 127.0.0.1:0 --admin unix://" +
                                  folder_.path().string() + "/admin");
  EXPECT_EQ(shell.Wait(), 0) << shell.Output();
  EXPECT_EQ(shell.Output(), "the configuration is valid\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "admin"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ports"));
}

// Both the configuration check and the start name every unavailable port and the unavailable device.
TEST_F(ServerStart, EveryUnavailablePortAndDeviceIsNamedAtOnce) {
  ServerOptions options = TestOptions(folder_.path() / "repository");
  options.http = options.health_listen = options.rpc.listen;
  options.admin.listen = absl::StrCat("unix://", folder_.path().string(), "/admin");
  RunningServer running(options);
  const Server& taken = running.server();
  const std::string flags =
      absl::StrCat(VITRINE_BIN "/vitrine-server --repository ", options.repository, " --device cuda:63 --listen ",
                   taken.address(), " --metrics ", taken.metrics_address(), " --http ", taken.http_address(),
                   " --health-listen ", taken.health_address(), " --admin ", taken.admin_address());
  for (const char* check : {"", " --check"}) {
    Shell shell(folder_.path(), flags + check);
    EXPECT_EQ(shell.Wait(), 1);
    EXPECT_THAT(shell.Output(), AllOf(HasSubstr("cuda:63"), HasSubstr("listen on " + taken.address()),
                                      HasSubstr(taken.metrics_address()), HasSubstr(taken.http_address()),
                                      HasSubstr("listen on " + taken.health_address()),
                                      HasSubstr("listen on " + taken.admin_address())));
  }
}

TEST_F(ServerStart, UsesOnlyTheCoresThatTasksetAllows) {
  if (std::system("taskset -c 0 true 2>/dev/null") != 0)
    GTEST_SKIP() << "taskset is not installed, or this process may not use core 0";
  Shell shell(folder_.path(), "exec taskset -c 0 $SERVER");
  ExpectServes(shell);
  EXPECT_THAT(shell.Output(), ContainsRegex("machine cores=0 cpus=(1|0\\.[0-9]+) .*executors=1 pinned=no"));
}

TEST_F(ServerStart, RespectsTheQuotaOfARealControlGroup) {
  const QuotaGroup group;
  if (group.empty()) GTEST_SKIP() << "no control group with a quota can be made here";
  Shell shell(folder_.path(), group.Join() + "exec $SERVER");
  ExpectServes(shell);
  EXPECT_THAT(shell.Output(), ContainsRegex("machine cores=.* cpus=(1(\\.5)?|0\\.[0-9]+) .*executors=1 "));
}

// Each small limit prevents the start of a different thread. The large limits suffice for all threads.
TEST_F(ServerStart, ServesOrSaysThatAThreadCannotBeStarted) {
  if (!CanLimitThreads()) GTEST_SKIP() << "this process may not limit the threads of another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);  // for the port file
  int served = 0, refused = 0;
  for (const int threads : {1, 2, 3, 4, 8, 16, 24, 32, 34, 35, 36, 37, 38, 40, 60}) {
    SCOPED_TRACE(threads);
    Shell shell(folder_.path(), absl::StrCat("exec ", WithThreads(threads), "$SERVER --executors 1"));
    if (shell.AwaitAddress().empty()) {
      EXPECT_EQ(shell.Wait(), 1) << shell.Output();
      EXPECT_THAT(shell.Output(), HasSubstr("vitrine-server: a thread cannot be started: "));
      ++refused;
    } else {
      ExpectServes(shell);
      shell.Signal(SIGTERM);
      EXPECT_EQ(shell.Wait(), 0) << shell.Output();
      ++served;
    }
    std::filesystem::remove(folder_.path() / "ports");
  }
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
}

// Without the check at the start, these servers would abort when they start the thread that reads the output of
// vitrine-repo.
TEST_F(ServerStart, SaysThatAThreadCannotBeStartedBeforeModelsAreCopied) {
  if (!CanLimitThreads()) GTEST_SKIP() << "this process may not limit the threads of another user";
  const std::string cache = folder_.path() / "cache";
  for (const std::string& source :
       std::vector<std::string>{"--repository s3://bucket/models --repository-cache " + cache,
                                "--model missing --model-cache " + cache, "--check --model missing"}) {
    for (const int threads : {1, 2, 3, 4}) {
      SCOPED_TRACE(absl::StrCat(source, ", threads: ", threads));
      Shell shell(folder_.path(), absl::StrCat("exec ", WithThreads(threads), VITRINE_BIN "/vitrine-server ", source,
                                               " --listen 127.0.0.1:0 --metrics 127.0.0.1:0"));
      EXPECT_EQ(shell.Wait(), 1);
      EXPECT_THAT(shell.Output(), HasSubstr("vitrine-server: a thread cannot be started: "));
    }
  }
}

TEST_F(ServerStart, CheckListsALimitOfThreadsTogetherWithOtherFaults) {
  const std::string folder = folder_.path().string();
  std::filesystem::create_directory(folder + "/empty");
  std::map<std::string, std::string> limits = {{"threads with their stacks need", "ulimit -v 300000; exec "}};
  if (CanLimitThreads()) limits["a thread cannot be started: "] = "exec " + WithThreads(4);
  for (const auto& [fault, limit] : limits) {
    Shell shell(folder_.path(),
                absl::StrCat(limit, VITRINE_BIN "/vitrine-server --check --listen 127.0.0.1:0 --metrics 127.0.0.1:0",
                             " --admin unix://", folder, "/admin --audit-log ", folder, "/none/audit --repository ",
                             folder, "/empty"));
    EXPECT_EQ(shell.Wait(), 1);
    EXPECT_THAT(shell.Output(), AllOf(HasSubstr(fault), HasSubstr("--audit-log is \"" + folder + "/none/audit\""),
                                      HasSubstr("--allow-empty"), HasSubstr("the ports, the device")));
  }
}

TEST_F(ServerStart, ACrashPrintsAStackWithNamesAndEndsWithTheSignal) {
  for (const int signal : {SIGSEGV, SIGABRT}) {
    Shell shell(folder_.path(), "ulimit -c 0; exec $SERVER");
    ExpectServes(shell);
    shell.Signal(signal);
    EXPECT_EQ(shell.Wait(), 128 + signal);
    EXPECT_THAT(shell.Output(),
                AllOf(HasSubstr(absl::StrCat("crash: signal ", signal, " in thread ")), HasSubstr("addresses: 0x"),
                      ContainsRegex("crash: #[0-9]+ .*sig(timed)?wait.* in ")));
    std::filesystem::remove(folder_.path() / "ports");
  }
}

TEST_F(ServerStart, SigtermDuringALoadEndsTheServer) {
  for (int i = 0; i < 30; ++i) {
    PublishModel(folder_.path() / "repository", absl::StrCat("slow-", i), SlowConfig());
  }
  for (int life = 0; life < 2; ++life) {
    Shell shell(folder_.path(), "exec $SERVER");
    ASSERT_FALSE(shell.AwaitAddress().empty()) << shell.Output();
    shell.Signal(SIGTERM);
    EXPECT_EQ(shell.Wait(), 0) << shell.Output();
    EXPECT_THAT(shell.Output(), Not(HasSubstr(" ready versions=")))
        << "the server had loaded everything, so this test proved nothing";
    std::filesystem::remove(folder_.path() / "ports");
  }
}

}  // namespace
}  // namespace vitrine::testing
