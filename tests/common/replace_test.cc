// SPDX-License-Identifier: Apache-2.0
#include "common/file/replace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

class ReplaceFileTest : public ::testing::Test {
 protected:
  ptrdiff_t Files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator());
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "settings";
};

TEST_F(ReplaceFileTest, TheFileIsReplacedAndNoTemporaryFileStays) {
  ASSERT_TRUE(ReplaceFile(path_, "old, and longer").ok());
  ASSERT_TRUE(ReplaceFile(path_, "new").ok());
  EXPECT_EQ(folder_.Read("settings"), "new");
  EXPECT_EQ(Files(), 1);
}

TEST_F(ReplaceFileTest, ANewFileHasTheRequestedMode) {
  const mode_t before = umask(0);
  EXPECT_TRUE(ReplaceFile(path_, "secret", 0600).ok());
  umask(before);
  struct stat facts;
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(ReplaceFileTest, ATemporaryFileOfAnEndedProcessIsNotReused) {
  folder_.Write("elsewhere", "untouched");
  std::filesystem::create_symlink(folder_.path() / "elsewhere", StagedPath(path_));
  ASSERT_TRUE(ReplaceFile(path_, "secret", 0600).ok());
  EXPECT_EQ(folder_.Read("elsewhere"), "untouched");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path_)));
  folder_.Write(StagedPath("settings"), "left");
  ASSERT_EQ(chmod(StagedPath(path_).c_str(), 0644), 0);
  ASSERT_TRUE(ReplaceFile(path_, "secret", 0600).ok());
  struct stat facts;
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(ReplaceFileTest, AStagedFileIsVisibleOnlyAfterItsCommit) {
  folder_.Write("settings", "old");
  ASSERT_TRUE(StageFile(path_, "new").ok());
  EXPECT_EQ(folder_.Read("settings"), "old");
  DropStaged(path_);
  EXPECT_EQ(Files(), 1);
  folder_.Write(StagedPath("settings"), "of a stream");
  ASSERT_TRUE(CommitFile(path_).ok());
  EXPECT_EQ(folder_.Read("settings"), "of a stream");
}

TEST_F(ReplaceFileTest, WithoutDiskSpaceTheOldContentStays) {
  folder_.Write("settings", "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status written = ReplaceFile(path_, std::string(8192, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(written.code(), absl::StatusCode::kResourceExhausted) << written;
  EXPECT_THAT(std::string(written.message()), HasSubstr("settings.new: "));
  EXPECT_EQ(folder_.Read("settings"), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(ReplaceFileTest, IfTheFileCannotBeReplacedTheTemporaryFileIsRemoved) {
  std::filesystem::create_directories(path_ / "taken");
  const absl::Status written = ReplaceFile(path_, "new");
  EXPECT_THAT(std::string(written.message()), HasSubstr("settings: Is a directory"));
  EXPECT_EQ(Files(), 1);
  EXPECT_EQ(CommitFile(folder_.path() / "nothing").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vitrine
