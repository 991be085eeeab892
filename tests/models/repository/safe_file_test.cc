// SPDX-License-Identifier: Apache-2.0
#include "models/repository/safe_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Opener = absl::StatusOr<FileDescriptor> (*)(const FileDescriptor&, const std::string&);

// Opening with openat2 and without it must refuse the same paths.
class OpenBeneathTest : public testing::TestWithParam<Opener> {
 protected:
  OpenBeneathTest() {
    fs::create_directories(scratch_.path() / "root/model/1");
    WriteFile(scratch_.path() / "root/model/1/file", "inside");
    WriteFile(scratch_.path() / "secret", "outside");
    fs::create_symlink("../../../secret", scratch_.path() / "root/model/1/link");
    fs::create_symlink("file", scratch_.path() / "root/model/1/inner");
    fs::create_directory_symlink("model", scratch_.path() / "root/alias");
    fs::create_directory_symlink("..", scratch_.path() / "root/up");
    root_ = *OpenFolder(scratch_.path() / "root");
  }

  absl::StatusOr<FileDescriptor> Open(const std::string& path) { return GetParam()(root_, path); }

  ScratchFolder scratch_{FastParent()};
  FileDescriptor root_;
};

TEST_P(OpenBeneathTest, OpensFilesBeneathTheFolder) {
  EXPECT_TRUE(Open("model").ok());
  EXPECT_TRUE(Open("model/1/file").ok());
  EXPECT_THAT(Open("model/2/file"), Fails(absl::StatusCode::kNotFound, HasSubstr("\"model/2/file\"")));
  EXPECT_THAT(Open("model/1/file/x"), Fails(absl::StatusCode::kNotFound, HasSubstr("")));
}

TEST_P(OpenBeneathTest, RefusesSymbolicLinksAndPathsOutOfTheFolder) {
  for (const char* path : {"model/1/link", "model/1/inner", "alias/1/file", "up/secret"}) {
    EXPECT_FALSE(Open(path).ok()) << path;
  }
  EXPECT_THAT(Open("model/1/link"), Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("symbolic link")));
  for (const char* path : {"../secret", "model/../../secret", "/etc/passwd"}) {
    EXPECT_THAT(Open(path), Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("out of the folder"))) << path;
  }
  EXPECT_FALSE(Open("").ok());
  EXPECT_FALSE(Open(std::string("model/1/file\0x", 14)).ok());
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutOpenat2, OpenBeneathTest,
                         testing::Values(&OpenBeneath, &OpenBeneathByComponents));

TEST(ReadFileBeneath, ReadsRegularFilesWithinTheLimit) {
  ScratchFolder scratch{FastParent()};
  const FileDescriptor folder = *OpenFolder(scratch.path());
  WriteFile(scratch.path() / "file", "12345");
  WriteFile(scratch.path() / "empty", "");
  EXPECT_EQ(*ReadFileBeneath(folder, "file", 5), "12345");
  EXPECT_EQ(*ReadFileBeneath(folder, "empty", 5), "");
  EXPECT_THAT(ReadFileBeneath(folder, "file", 4), Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("at most 4")));
  fs::resize_file(scratch.path() / "empty", uint64_t{1} << 40);  // sparse; must be refused before memory is allocated
  EXPECT_THAT(ReadFileBeneath(folder, "empty", 1 << 20),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("1099511627776 bytes")));
}

TEST(ReadFileBeneath, RefusesFoldersAndFifosWithoutHanging) {
  ScratchFolder scratch{FastParent()};
  const FileDescriptor folder = *OpenFolder(scratch.path());
  fs::create_directory(scratch.path() / "folder");
  ASSERT_EQ(mkfifo((scratch.path() / "fifo").c_str(), 0600), 0);
  for (const char* name : {"folder", "fifo"}) {
    EXPECT_THAT(ReadFileBeneath(folder, name, 100),
                Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
  }
}

}  // namespace
}  // namespace vitrine
