// SPDX-License-Identifier: Apache-2.0
#include "models/repository/wrong_folder.h"

#include <gmock/gmock.h>

#include "models/repository/stored_version.h"
#include "tests/models/repository/sample_version.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class WrongFolder : public ::testing::Test {
 protected:
  std::string Why(const std::string& name) const { return ExplainNoVersions(folder_.path() / name); }
  std::string Quoted(const std::string& name) const { return "\"" + folder_.Path(name) + "\""; }
  ScratchFolder folder_;
};

TEST_F(WrongFolder, AnEmptyFolderIsReportedAsEmpty) {
  std::filesystem::create_directory(folder_.path() / "new");
  EXPECT_THAT(Why("new"), AllOf(HasSubstr(Quoted("new")), HasSubstr(" is empty; publish")));
  folder_.Write("new/README", "as vitrine-repo init writes it");
  EXPECT_THAT(Why("new"), HasSubstr("holds no <model>/<version>/"));
}

TEST_F(WrongFolder, TheErrorForAModelFolderNamesTheRepository) {
  folder_.Write("models/m/1/manifest.textproto", "");
  EXPECT_THAT(Why("models/m"),
              AllOf(HasSubstr("one model"), EndsWith("name the folder above it, " + Quoted("models"))));
  EXPECT_THAT(Why("models/m/"), EndsWith("name the folder above it, " + Quoted("models")));
  EXPECT_THAT(Why("models/m/1"), AllOf(HasSubstr("one version"), EndsWith(Quoted("models"))));
}

TEST_F(WrongFolder, TheErrorForAParentFolderNamesARepository) {
  folder_.Write("volume/models/m/1/manifest.textproto", "");
  EXPECT_THAT(Why("volume"), EndsWith("name one of them, for instance " + Quoted("volume/models")));
}

TEST_F(WrongFolder, ASourceCodeFolderIsReported) {
  folder_.Write("code/CMakeLists.txt", "");
  folder_.Write("code/publish.cc", "");
  EXPECT_THAT(Why("code"), HasSubstr("is a folder of source code (CMakeLists.txt, publish.cc)"));
}

TEST_F(WrongFolder, AnIncompleteCopyIsReported) {
  folder_.Write("models/m/3/weights.safetensors", "");
  EXPECT_THAT(Why("models"), HasSubstr("m/3 lacks manifest.textproto"));
}

TEST_F(WrongFolder, ACopyOfAnEmptySourceNamesItsAddress) {
  folder_.Write("cache/.pull/refreshed", "0 versions of s3://models/produktion\n");
  EXPECT_THAT(Why("cache"),
              EndsWith("is a copy of \"s3://models/produktion\", which has no version; check the address"));
  folder_.Write("cache/.pull/refreshed", "10 versions of s3://models/production\n");
  EXPECT_THAT(Why("cache"), HasSubstr("holds no <model>/<version>/"));
}

TEST_F(WrongFolder, SymbolicLinksAreReported) {
  folder_.Write("real/m/1/manifest.textproto", "");
  std::filesystem::create_directory(folder_.path() / "models");
  std::filesystem::create_directory_symlink("../real/m", folder_.path() / "models/m");
  EXPECT_THAT(Why("models"), HasSubstr("behind symbolic links: m is a symbolic link and is ignored"));
}

TEST_F(WrongFolder, PublishRefusesASourceCodeFolder) {
  folder_.Write("code/publish.cc", "");
  const auto published = Publish(folder_.path() / "code", "m", SampleDraft(1));
  EXPECT_EQ(published.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(published.status().message()), HasSubstr("source code (publish.cc)"));
  EXPECT_EQ(CheckPublishable(folder_.path() / "code", "m").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "code/m"));
}

TEST_F(WrongFolder, PublishAcceptsARepositoryWithAScript) {
  ASSERT_TRUE(Publish(folder_.path(), "m", SampleDraft(1)).ok());
  folder_.Write("sync.py", "");
  EXPECT_TRUE(Publish(folder_.path(), "m", SampleDraft(2)).ok());
}

}  // namespace
}  // namespace vitrine
