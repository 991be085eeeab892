// SPDX-License-Identifier: Apache-2.0
// Tests what `vitrine-repo publish`, run as a program, leaves behind when it is killed at any system call.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/repository/stored_version.h"
#include "tests/models/repository/sample_version.h"
#include "tests/models/repository/traced_process.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr char kProgram[] = VITRINE_BIN "/vitrine-repo";
constexpr char kModel[] = "small";

int RunProgram(const std::string& arguments) {
  return WEXITSTATUS(std::system(absl::StrCat(kProgram, " ", arguments, " >/dev/null 2>&1").c_str()));
}

// Returns names, sizes and times of everything in a folder as text. Equal states give equal texts.
std::string StateOf(const fs::path& root) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat status = {};
    lstat(entry.path().c_str(), &status);
    entries[entry.path()] =
        absl::StrCat(status.st_size, " ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec, " ", status.st_ino);
  }
  std::string state;
  for (const auto& [path, text] : entries) absl::StrAppend(&state, path, " ", text, "\n");
  return state;
}

class PublishProgramFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    // Makes two versions with different weights. The repository holds the first, and the tests publish the second.
    for (const int seed : {1, 2}) {
      ASSERT_EQ(RunProgram(absl::StrCat("create ", source_.string(), " ", kModel,
                                        " --variant kv-pos-mnist-p7-d64-l2 --seed ", seed)),
                0);
      const auto version = ReadVersion(source_, {kModel, seed});
      ASSERT_TRUE(version.ok()) << version.status();
      digests_.push_back(version->weights_sha256);
    }
    ASSERT_NE(digests_[0], digests_[1]);
    ASSERT_EQ(RunProgram(absl::StrCat("publish ", old_.string(), " ", kModel, "@1 --from ", source_.string())), 0);
  }

  // Returns a copy of the repository that holds version 1.
  fs::path FreshRepository() {
    const fs::path root = scratch_.path() / absl::StrCat("copy", ++copies_);
    fs::copy(old_, root, fs::copy_options::recursive);
    return root;
  }

  // Returns the body of a child process that publishes version 2.
  std::function<std::string()> Publishing(const fs::path& root) const {
    return [this, root]() -> std::string {
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, STDOUT_FILENO);
      dup2(nothing, STDERR_FILENO);
      const std::string what = absl::StrCat(kModel, "@2");
      execl(kProgram, "vitrine-repo", "publish", root.c_str(), what.c_str(), "--from", source_.c_str(), nullptr);
      return "cannot be executed";
    };
  }

  // Expects either the old version alone or both versions; each must be complete, and there must be no other version.
  // The next publisher must succeed and clean up.
  void ExpectOldOrNew(const fs::path& root, const std::string& when) {
    const auto ids = ListVersions(root);
    ASSERT_TRUE(ids.ok()) << ids.status() << when;
    ASSERT_GE(ids->size(), 1u) << when;
    ASSERT_LE(ids->size(), 2u) << when;
    for (size_t i = 0; i < ids->size(); ++i) {
      const auto version = ReadVersion(root, (*ids)[i]);
      ASSERT_TRUE(version.ok()) << version.status() << when;
      EXPECT_EQ(version->weights_sha256, digests_[i]) << when;
    }
    (ids->size() == 1 ? old_states_ : new_states_)++;
    MakeTemporaryFoldersOld(root / kModel);
    const auto next = Publish(root, "small", SampleDraft(1));
    ASSERT_TRUE(next.ok()) << next.status() << when;
    EXPECT_THAT(next->version, testing::AnyOf(static_cast<int64_t>(ids->size()) + 1, 3)) << when;
    for (const std::string& name : Entries(root / kModel))
      EXPECT_FALSE(absl::StartsWith(name, ".tmp-")) << name << when;
  }

  ScratchFolder scratch_{FastParent()};
  const fs::path source_ = scratch_.path() / "source", old_ = scratch_.path() / "old";
  std::vector<std::string> digests_;
  int copies_ = 0;
  int old_states_ = 0, new_states_ = 0;
};

// A kill at a system call leaves the files in their state before that call. Therefore one run that is stopped at each
// call shows the results of kills at all calls. Every state that differs from the previous state is checked.
TEST_F(PublishProgramFaultTest, FilesAreOldOrNewAtEverySystemCall) {
  const fs::path root = FreshRepository();
  int calls = 0;
  std::string last = StateOf(root);
  std::vector<std::pair<fs::path, std::string>> states = {{FreshRepository(), ", before anything"}};
  const ChildResult child = RunTraced(
      Publishing(root),
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
  states.push_back({root, ", at the end"});
  for (const auto& [copy, when] : states) ExpectOldOrNew(copy, when);
  // Only the old version exists after each of these steps: the creation of the new folder, and the creation and the
  // writing of each of its four files.
  EXPECT_GT(old_states_, 6) << "hardly any state was seen";
  EXPECT_GE(new_states_, 2);
}

}  // namespace
}  // namespace vitrine
