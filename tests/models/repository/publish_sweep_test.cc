// SPDX-License-Identifier: Apache-2.0
// Tests a publisher that cleans up while no lock protects a second, active publisher. There is no lock if the second
// publisher has just published, or if the file system does not share locks between machines.
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "models/repository/temporary_folder.h"
#include "tests/models/repository/sample_version.h"

namespace {

// Function that the flock below calls before each attempt to lock without waiting. A publisher makes such attempts when
// it cleans up.
std::function<void(int descriptor)> before_lock;
bool every_lock_succeeds = false;

}  // namespace

extern "C" int flock(int descriptor, int operation) {
  if (before_lock && (operation & LOCK_NB) != 0) before_lock(descriptor);
  return every_lock_succeeds ? 0 : static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

ino_t InodeOf(int descriptor) {
  struct stat state;
  EXPECT_EQ(fstat(descriptor, &state), 0);
  return state.st_ino;
}

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    fs::create_directories(model_);
    parent_ = *OpenFolder(model_);
  }
  ~SweepTest() override {
    before_lock = nullptr;
    every_lock_succeeds = false;
  }

  std::unique_ptr<TemporaryFolder> FolderWithWeights() {
    auto folder = *TemporaryFolder::Create(parent_);
    EXPECT_TRUE(folder->Write("weights", "all of them").ok());
    return folder;
  }

  ScratchFolder scratch_{FastParent()};
  const fs::path model_ = scratch_.path() / "sample";
  FileDescriptor parent_;
};

TEST_F(SweepTest, AJustPublishedVersionIsNotSwept) {
  std::unique_ptr<TemporaryFolder> living = FolderWithWeights();
  MakeTemporaryFoldersOld(model_);
  const auto inode = InodeOf(OpenFolder(model_ / Entries(model_).front())->get());
  bool published = false;
  before_lock = [&](int descriptor) {
    if (published || InodeOf(descriptor) != inode) return;
    published = true;
    ASSERT_TRUE(living->MoveTo("5").ok());
    living.reset();  // drops the lock
  };
  const auto sweeper = TemporaryFolder::Create(parent_);
  ASSERT_TRUE(sweeper.ok());
  ASSERT_TRUE(published);
  EXPECT_THAT(Entries(model_ / "5"), ElementsAre("weights"));
}

TEST_F(SweepTest, WithoutLocksAYoungFolderIsKept) {
  every_lock_succeeds = true;
  const std::unique_ptr<TemporaryFolder> living = FolderWithWeights();
  ASSERT_TRUE(TemporaryFolder::Create(parent_).ok());
  ASSERT_TRUE(living->MoveTo("5").ok());
  EXPECT_THAT(Entries(model_ / "5"), ElementsAre("weights"));
}

TEST_F(SweepTest, WithoutLocksAnOldPublisherGetsAnErrorForItsFolder) {
  every_lock_succeeds = true;
  const std::unique_ptr<TemporaryFolder> living = FolderWithWeights();
  MakeTemporaryFoldersOld(model_);
  ASSERT_TRUE(TemporaryFolder::Create(parent_).ok());
  EXPECT_TRUE(absl::IsNotFound(living->MoveTo("5")));
  EXPECT_THAT(Entries(model_), ElementsAre());
}

TEST_F(SweepTest, AnOldLockedFolderIsKept) {
  const std::unique_ptr<TemporaryFolder> living = FolderWithWeights();
  MakeTemporaryFoldersOld(model_);
  ASSERT_TRUE(TemporaryFolder::Create(parent_).ok());
  ASSERT_TRUE(living->MoveTo("5").ok());
  EXPECT_THAT(Entries(model_ / "5"), ElementsAre("weights"));
}

TEST_F(SweepTest, AnOldUnlockedFolderIsSwept) {
  fs::create_directory(model_ / ".tmp-1-dead");
  WriteFile(model_ / ".tmp-1-dead/weights", "some");
  fs::create_directory(model_ / ".tmp-1-young");
  ASSERT_TRUE(TemporaryFolder::Create(parent_).ok());
  EXPECT_THAT(Entries(model_), UnorderedElementsAre(".tmp-1-dead", ".tmp-1-young"));
  fs::last_write_time(model_ / ".tmp-1-dead", fs::file_time_type::clock::now() - std::chrono::hours(25));
  ASSERT_TRUE(TemporaryFolder::Create(parent_).ok());
  EXPECT_THAT(Entries(model_), ElementsAre(".tmp-1-young"));
}

}  // namespace
}  // namespace vitrine
