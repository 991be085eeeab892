// SPDX-License-Identifier: Apache-2.0
#include "server/identity/guarded_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/scratch_folder.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

class GuardedFile : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read(Guard guard = Guard::kNoOtherWriters) const {
    return ReadGuardedFile("--flag", folder_.Path("file"), guard);
  }
  // Returns the status text for a file with this mode.
  std::string Said(mode_t mode, Guard guard) const {
    chmod(folder_.Path("file").c_str(), mode);
    return Read(guard).status().ToString();
  }

  const ScratchFolder folder_;
};

TEST_F(GuardedFile, IsReadUpToOneMebibyte) {
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes.push_back(static_cast<char>(i * 7 + (i >> 8)));
  folder_.Write("file", bytes);
  EXPECT_EQ(Read().value(), bytes);
  folder_.Write("file", bytes + "x");
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Read().status().ToString(), HasSubstr("larger than 1 MiB"));
  folder_.Write("file", "x");
  EXPECT_EQ(Read().value(), "x");
  folder_.Write("file", "");
  EXPECT_THAT(Read().status().ToString(), HasSubstr("file is empty"));
  EXPECT_EQ(ReadGuardedFile("--flag", folder_.Path("file"), Guard::kNoOtherWriters, Emptiness::kIsAllowed).value(), "");
}

TEST_F(GuardedFile, IsRefusedIfOtherUsersHaveAccess) {
  folder_.Write("file", "x");
  for (const mode_t mode : {0600, 0640, 0660}) {
    EXPECT_EQ(Said(mode, Guard::kNoOtherReaders), "OK") << mode;
    EXPECT_EQ(Said(mode, Guard::kNoOtherWriters), "OK") << mode;
  }
  for (const mode_t mode : {0604, 0601}) {
    EXPECT_THAT(Said(mode, Guard::kNoOtherReaders), HasSubstr("may be read by every user")) << mode;
    EXPECT_EQ(Said(mode, Guard::kNoOtherWriters), "OK") << mode;
  }
  EXPECT_THAT(Said(0602, Guard::kNoOtherWriters), HasSubstr("may be written by every user"));
}

}  // namespace
}  // namespace vitrine::testing
