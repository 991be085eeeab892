// SPDX-License-Identifier: Apache-2.0
// Tests what `vitrine-repo pull`, run as a program, leaves behind when it is killed at any system call. The source is a
// bucket of moto, a stand-in for S3, with three models.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/repository/repository.h"
#include "models/repository/stored_version.h"
#include "tests/free_port.h"
#include "tests/models/repository/sample_version.h"
#include "tests/models/repository/traced_process.h"
#include "tests/paths.h"
#include "tests/test_environment.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = VITRINE_BIN "/vitrine-repo";
constexpr char kSource[] = "s3://models/production";
const std::vector<std::string> kModels = {"one", "three", "two"};

int RunShell(const std::string& command) {
  return WEXITSTATUS(std::system(absl::StrCat(command, " >/dev/null 2>&1").c_str()));
}

// Returns names and sizes of everything in a folder as text. Equal states give equal texts.
std::string StateOf(const fs::path& root) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::error_code ignored;
    names.insert(absl::StrCat(entry.path().native(), " ", fs::file_size(entry.path(), ignored)));
  }
  return absl::StrJoin(names, "\n");
}

class RemotePullFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string environment = TestEnvironment();
    if (environment.empty()) GTEST_SKIP() << "pip reaches no package index";
    const std::string port = absl::StrCat(FreePort());
    moto_ = fork();
    if (moto_ == 0) {
      const int nothing = open("/dev/null", O_RDWR);
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
      const std::string python = environment + "/bin/python";
      execl(python.c_str(), python.c_str(), "-m", "moto.server", "-H", "127.0.0.1", "-p", port.c_str(), nullptr);
      _exit(127);
    }
    const std::string url = absl::StrCat("http://127.0.0.1:", port);
    for (const auto& [name, value] : {std::pair("AWS_ENDPOINT_URL", url),
                                      {"AWS_ACCESS_KEY_ID", "key"},
                                      {"AWS_SECRET_ACCESS_KEY", "secret"},
                                      {"AWS_REGION", "us-east-1"}}) {
      setenv(name, value.c_str(), 1);
    }
    ASSERT_EQ(RunShell(absl::StrCat("for i in $(seq 300); do curl -sf -X PUT ", url,
                                    "/models && exit 0; sleep 0.1; done; exit 1")),
              0);
    for (const std::string& model : kModels) {
      ASSERT_EQ(RunShell(absl::StrCat(kProgram, " create ", source_.native(), " ", model,
                                      " --variant kv-pos-mnist-p7-d64-l2 --seed ", model.size())),
                0);
      ASSERT_EQ(RunShell(absl::StrCat(kProgram, " push ", source_.native(), " ", model, " ", kSource)), 0);
    }
  }

  void TearDown() override {
    if (moto_ <= 0) return;
    kill(moto_, SIGKILL);
    waitpid(moto_, nullptr, 0);
  }

  static std::function<std::string()> Pulling(const fs::path& root) {
    return [root]() -> std::string {
      const int nothing = open("/dev/null", O_RDWR);
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
      execl(kProgram, "vitrine-repo", "pull", kSource, root.c_str(), nullptr);
      return "cannot be executed";
    };
  }

  // Expects that every version in the folder is complete, and that the next pull completes the copy and cleans up.
  void ExpectWholeVersions(const fs::path& root, const std::string& when) {
    const auto ids = ListVersionFolders(root);
    ASSERT_TRUE(ids.ok()) << ids.status() << when;
    seen_.insert(ids->size());
    for (const VersionId& id : *ids) {
      const auto version = ReadVersion(root, id);
      EXPECT_TRUE(version.ok()) << version.status() << when;
    }
    ASSERT_EQ(RunShell(absl::StrCat(kProgram, " pull ", kSource, " ", root.native())), 0) << when;
    EXPECT_EQ(Entries(root / ".pull"), (std::vector<std::string>{"lock", "refreshed"})) << when;
    for (const std::string& model : kModels) {
      EXPECT_EQ(Entries(root / model / "1"), Entries(source_ / model / "1")) << when;
      EXPECT_TRUE(ReadVersion(root, {model, 1}).ok()) << when;
    }
  }

  ScratchFolder scratch_{FastParent()};
  const fs::path source_ = scratch_.path() / "source";
  pid_t moto_ = 0;
  std::set<size_t> seen_;  // numbers of versions in the states that were checked
};

// A kill at a system call leaves the files in their state before that call. Therefore one run that is stopped at each
// call shows the results of kills at all calls. Every state that differs from the previous state is checked.
TEST_F(RemotePullFaultTest, EveryVersionIsCompleteAtEverySystemCall) {
  const fs::path root = scratch_.path() / "copy";
  fs::create_directory(root);
  int calls = 0;
  std::string last = StateOf(root);
  std::vector<std::pair<fs::path, std::string>> states;
  const ChildResult child = RunTraced(
      Pulling(root),
      [&](const SystemCall& call) {
        ++calls;
        std::string state = StateOf(root);
        if (state == last) return Verdict{};
        last = std::move(state);
        const fs::path copy = scratch_.path() / absl::StrCat("state", calls);
        fs::copy(root, copy, fs::copy_options::recursive);
        states.push_back({copy, absl::StrCat(", at system call ", calls, " (number ", call.number, ")")});
        return Verdict{};
      },
      [](const SystemCall&, int64_t) {});
  if (!child.started) GTEST_SKIP() << "this system does not let a process trace its child: " << child.text;
  ASSERT_TRUE(WIFEXITED(child.status)) << child.text;
  ASSERT_EQ(WEXITSTATUS(child.status), 0) << child.text;
  for (const auto& [copy, when] : states) ExpectWholeVersions(copy, when);
  EXPECT_GT(states.size(), 50u) << "hardly any state was seen";
  EXPECT_EQ(seen_, (std::set<size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace vitrine
