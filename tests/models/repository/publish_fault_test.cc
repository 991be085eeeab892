// SPDX-License-Identifier: Apache-2.0
// Tests what a publish leaves behind when its process dies, the disk is full, or a system call fails.
#include <ATen/ops/full.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/stored_version.h"
#include "tests/models/repository/sample_version.h"
#include "tests/models/repository/traced_process.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kOld = 1;
constexpr float kNew = 2;
constexpr char kPublished[] = "published";
// Limit for loops over the system calls of a publish. A publish makes far fewer calls, so a loop that reaches this
// limit would never end.
constexpr int kMostCalls = 5000;

const auto kCarryOn = [](const SystemCall&, int64_t) {};

std::vector<std::string> TemporaryFolders(const fs::path& model) {
  std::vector<std::string> names;
  for (const std::string& name : Entries(model)) {
    if (absl::StartsWith(name, ".tmp-")) names.push_back(name);
  }
  return names;
}

// Expects that every listed version is complete and has the weights that were published under its number. Returns the
// number of listed versions.
size_t ExpectWholeVersions(const fs::path& root) {
  const auto ids = ListVersions(root);
  EXPECT_TRUE(ids.ok()) << ids.status();
  for (const VersionId& id : *ids) {
    const auto version = ReadVersion(root, id);
    EXPECT_TRUE(version.ok()) << version.status();
    if (version.ok()) {
      EXPECT_EQ(FillOf(*version), id.version == 1 ? kOld : kNew);
    }
  }
  for (const std::string& name : Entries(root / "sample")) {
    EXPECT_TRUE(name == "1" || name == "2" || name == ".highest-version" || absl::StartsWith(name, ".tmp-")) << name;
  }
  return ids->size();
}

class PublishFaultTest : public testing::Test {
 protected:
  // Returns the body of a child process that publishes kNew. The draft is made before the fork.
  std::function<std::string()> PublishNew(const fs::path& root) {
    return [&draft = draft_, root] {
      const auto id = Publish(root, "sample", draft);
      return id.ok() ? std::string(kPublished) : std::string(id.status().message());
    };
  }

  // Returns a repository that holds version 1.
  fs::path FreshRepository() {
    const fs::path root = scratch_.path() / absl::StrCat(++repositories_);
    EXPECT_TRUE(Publish(root, "sample", SampleDraft(kOld)).ok());
    return root;
  }

  ScratchFolder scratch_{FastParent()};
  const Draft draft_ = SampleDraft(kNew);
  int repositories_ = 0;
};

TEST_F(PublishFaultTest, AKillAtAnySystemCallLeavesACompleteVersion) {
  int died_old = 0;
  int died_new = 0;
  bool finished = false;
  for (int last = 0; !finished && last < kMostCalls; ++last) {
    const fs::path root = FreshRepository();
    int calls = 0;
    const ChildResult child = RunTraced(
        PublishNew(root), [&](const SystemCall&) { return Verdict{.kill = calls++ == last}; }, kCarryOn);
    if (!child.started) GTEST_SKIP() << "this system does not let a process trace its child: " << child.text;
    finished = !child.killed;
    const size_t versions = ExpectWholeVersions(root);
    ASSERT_FALSE(HasFailure()) << "killed at system call " << last;
    if (finished) {
      EXPECT_EQ(child.text, kPublished);
      EXPECT_EQ(versions, 2u);
    } else {
      (versions == 1 ? died_old : died_new)++;
    }
    // The next publisher succeeds and removes the dead publisher's files.
    MakeTemporaryFoldersOld(root / "sample");
    const auto next = Publish(root, "sample", draft_);
    ASSERT_TRUE(next.ok()) << next.status();
    // If a publisher dies after it has taken a version number and before the rename, the number is not used again.
    ASSERT_THAT(static_cast<size_t>(next->version), AnyOf(versions + 1, 3u));
    ASSERT_THAT(TemporaryFolders(root / "sample"), ElementsAre()) << "killed at system call " << last;
    fs::remove_all(root);
  }
  EXPECT_TRUE(finished);
  std::cout << "killed at each of " << died_old + died_new << " system calls: " << died_old << " left the old version, "
            << died_new << " the new one\n";
  EXPECT_GT(died_old, 20) << "it was not killed while it was writing";
  EXPECT_GT(died_new, 0) << "it was not killed after the rename";
}

TEST_F(PublishFaultTest, AKillDuringCreationLeavesNoPartialRepository) {
  bool finished = false;
  for (int last = 0; !finished && last < kMostCalls; ++last) {
    const fs::path root = scratch_.path() / absl::StrCat("new", last) / "repository";
    int calls = 0;
    const ChildResult child = RunTraced(
        PublishNew(root), [&](const SystemCall&) { return Verdict{.kill = calls++ == last}; }, kCarryOn);
    if (!child.started) GTEST_SKIP() << "this system does not let a process trace its child: " << child.text;
    finished = !child.killed;
    const auto ids = ListVersions(root);
    if (ids.ok()) {
      for (const VersionId& id : *ids) EXPECT_TRUE(ReadVersion(root, id).ok()) << "killed at system call " << last;
    }
    const auto next = Publish(root, "sample", draft_);
    ASSERT_TRUE(next.ok()) << next.status() << ", after it was killed at system call " << last;
    const int64_t lowest = ids.ok() && !ids->empty() ? 2 : 1;
    EXPECT_THAT(next->version, AnyOf(lowest, 2));
    fs::remove_all(root.parent_path());
  }
  EXPECT_TRUE(finished);
}

// Expects that files and folder entries are synced to disk before the rename makes them visible.
class DurabilityRecorder {
 public:
  void After(const SystemCall& call, int64_t result) {
    if (result < 0) return;
    const int64_t file = static_cast<int64_t>(call.arguments[0]);
    switch (call.number) {
      case SYS_openat:
        if ((call.arguments[2] & O_CREAT) != 0) {
          dirty_.insert(result);
          entries_synced_ = false;
        }
        break;
      case SYS_write:
        dirty_.insert(file);
        break;
      case SYS_fsync:
        if (dirty_.erase(file) == 0) entries_synced_ = true;  // this descriptor belongs to a folder
        synced_after_rename_ = renamed_;
        break;
      case SYS_close:
        EXPECT_FALSE(dirty_.contains(file)) << "a file was closed without fsync";
        break;
      case SYS_renameat2:
        EXPECT_TRUE(dirty_.empty()) << "renamed before every file was on the disk";
        EXPECT_TRUE(entries_synced_) << "renamed before the folder's entries were on the disk";
        renamed_ = true;
        break;
      default:
        break;
    }
  }

  bool renamed() const { return renamed_; }
  bool synced_after_rename() const { return synced_after_rename_; }

 private:
  std::set<int64_t> dirty_;
  bool entries_synced_ = false;
  bool renamed_ = false;
  bool synced_after_rename_ = false;
};

TEST_F(PublishFaultTest, FilesAreSyncedBeforeTheRenameAndTheRenameBeforeTheEnd) {
  DurabilityRecorder recorder;
  const ChildResult child = RunTraced(
      PublishNew(FreshRepository()), [](const SystemCall&) { return Verdict{}; },
      [&](const SystemCall& call, int64_t result) { recorder.After(call, result); });
  if (!child.started) GTEST_SKIP() << "this system does not let a process trace its child: " << child.text;
  EXPECT_EQ(child.text, kPublished);
  EXPECT_TRUE(recorder.renamed());
  EXPECT_TRUE(recorder.synced_after_rename());
}

TEST_F(PublishFaultTest, AnErrorInAnySystemCallIsReportedAndLeavesNoTemporaryFiles) {
#ifndef __x86_64__
  GTEST_SKIP() << "errors are injected through x86-64 registers";
#endif
  const std::map<uint64_t, int> errors = {{SYS_openat, EMFILE}, {SYS_openat2, EIO},       {SYS_mkdirat, ENOSPC},
                                          {SYS_mkdir, EROFS},   {SYS_write, ENOSPC},      {SYS_fsync, EIO},
                                          {SYS_renameat2, EIO}, {SYS_getdents64, ESTALE}, {SYS_flock, ENOLCK}};
  int failures = 0;
  bool reached_end = false;
  for (int target = 0; !reached_end && target < kMostCalls; ++target) {
    const fs::path root = FreshRepository();
    int calls = 0;
    uint64_t failed = 0;
    const ChildResult child = RunTraced(
        PublishNew(root),
        [&](const SystemCall& call) {
          const auto error = errors.find(call.number);
          if (error == errors.end() || calls++ != target) return Verdict{};
          failed = call.number;
          return Verdict{.error = error->second};
        },
        kCarryOn);
    if (!child.started) GTEST_SKIP() << "this system does not let a process trace its child: " << child.text;
    reached_end = calls <= target;
    const size_t versions = ExpectWholeVersions(root);
    const bool published = child.text == kPublished || absl::StrContains(child.text, "may be lost in a power failure");
    EXPECT_EQ(versions, published ? 2u : 1u) << child.text;
    if (child.text != kPublished) ++failures;
    if (!published) {
      EXPECT_THAT(child.text, HasSubstr("nothing was published as sample in "));
    }
    EXPECT_THAT(TemporaryFolders(root / "sample"), ElementsAre()) << child.text;
    ASSERT_FALSE(HasFailure()) << "after an error in call " << target << ", system call " << failed;
    fs::remove_all(root);
  }
  EXPECT_TRUE(reached_end);
  EXPECT_GT(failures, 15) << "hardly any error was noticed";
}

TEST_F(PublishFaultTest, AFileSizeLimitIsReportedAndLeavesNoTemporaryFiles) {
  const fs::path root = FreshRepository();
  Draft large = SampleDraft(kNew);
  large.weights.tensors["large"] = StoredOf(at::full({1 << 20}, 1.0, at::kFloat));
  const ChildResult child = RunInChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return std::string("setrlimit failed");
    return Publish(root, "sample", large).status().ToString();
  });
  EXPECT_THAT(child.text, AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("weights.safetensors: File too large")));
  EXPECT_EQ(ExpectWholeVersions(root), 1u);
  EXPECT_THAT(TemporaryFolders(root / "sample"), ElementsAre());
}

constexpr char kNoMount[] = "no mount";

// Runs the body in a child process with a private 1 MB file system mounted at `disk`.
ChildResult OnSmallDisk(const fs::path& disk, const std::function<std::string()>& body) {
  fs::create_directory(disk);
  return RunInChild([&]() -> std::string {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kNoMount;
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) return kNoMount;
    return body();
  });
}

TEST_F(PublishFaultTest, AFullDiskIsReportedAndLeavesNoTemporaryFiles) {
  const fs::path disk = scratch_.path() / "disk";
  Draft large = SampleDraft(kNew);
  large.weights.tensors["large"] = StoredOf(at::full({1 << 20}, 1.0, at::kFloat));
  const ChildResult child = OnSmallDisk(disk, [&]() -> std::string {
    if (const auto old = Publish(disk, "sample", SampleDraft(kOld)); !old.ok()) return old.status().ToString();
    const std::string refusal = Publish(disk, "sample", large).status().ToString();
    const size_t entries = Entries(disk / "sample").size();  // the version and the file with the highest number
    const std::string then = Publish(disk, "sample", SampleDraft(kNew)).status().ToString();
    return absl::StrCat(refusal, "; entries: ", entries, "; then: ", then);
  });
  if (child.text == kNoMount) GTEST_SKIP() << "this system does not let a process mount a small disk of its own";
  EXPECT_THAT(child.text, AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("weights.safetensors: No space left"),
                                HasSubstr("entries: 2;"), HasSubstr("then: OK")));
}

TEST_F(PublishFaultTest, AReadOnlyRepositoryIsReportedBeforeAndByPublish) {
  const fs::path disk = scratch_.path() / "disk";
  const ChildResult child = OnSmallDisk(disk, [&]() -> std::string {
    if (const auto old = Publish(disk, "sample", SampleDraft(kOld)); !old.ok()) return old.status().ToString();
    if (mount("none", disk.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return kNoMount;
    return absl::StrCat("before: ", CheckPublishable(disk, "sample").ToString(),
                        "; new: ", CheckPublishable(disk / "other", "sample").ToString(),
                        "; publish: ", Publish(disk, "sample", SampleDraft(kNew)).status().ToString(),
                        "; versions: ", ExpectWholeVersions(disk));
  });
  if (child.text == kNoMount) GTEST_SKIP() << "this system does not let a process mount a small disk of its own";
  constexpr char kPattern[] =
      "before: PERMISSION_DENIED: nothing could be published as sample in \".*disk\": .*Read-only file system; "
      "new: PERMISSION_DENIED: .*Read-only file system; "
      "publish: PERMISSION_DENIED: nothing was published as sample in \".*disk\": .*Read-only file system; versions: 1";
  EXPECT_THAT(child.text, testing::MatchesRegex(kPattern));
}

TEST_F(PublishFaultTest, AFullDiskIsReportedBeforePublish) {
  const fs::path disk = scratch_.path() / "disk";
  const ChildResult child = OnSmallDisk(disk, [&] {
    const std::string fits = CheckPublishable(disk, "sample", 900000).ToString();
    const std::string exceeds = CheckPublishable(disk, "sample", 2000000).ToString();
    WriteFile(disk / "filler", std::string(2 << 20, 'x'));  // the disk fills up before all bytes are written
    return absl::StrCat(fits, "; ", exceeds, "; full: ", CheckPublishable(disk, "sample").ToString(),
                        "; entries: ", absl::StrJoin(Entries(disk), ","), ".");
  });
  if (child.text == kNoMount) GTEST_SKIP() << "this system does not let a process mount a small disk of its own";
  EXPECT_THAT(child.text,
              AllOf(HasSubstr("OK; RESOURCE_EXHAUSTED"), HasSubstr("MB free, and a version takes about 2.0"),
                    HasSubstr("full: RESOURCE_EXHAUSTED"), HasSubstr("entries: filler.")));
}

}  // namespace
}  // namespace vitrine
