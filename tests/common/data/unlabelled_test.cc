// SPDX-License-Identifier: Apache-2.0
#include "common/data/unlabelled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/common/data/grey_images.h"
#include "tests/common/data/made_tar.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UnlabelledDataTest : public ::testing::Test {
 protected:
  UnlabelledImages Open(const std::string& source) const {
    auto opened = OpenUnlabelled(folder_.Path(source));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : UnlabelledImages();
  }
  absl::Status Fault(const std::string& source) const { return OpenUnlabelled(folder_.Path(source)).status(); }
  static std::vector<std::string> Names(const UnlabelledImages& opened) {
    std::vector<std::string> names;
    for (int64_t i = 0; opened.images != nullptr && i < opened.images->size(); ++i) {
      names.push_back(opened.images->name(i));
    }
    return names;
  }

  const ScratchFolder folder_;
};

TEST_F(UnlabelledDataTest, AFolderHasTheImagesOfAllItsFoldersInOrder) {
  for (const char* name : {"set/b/2.png", "set/b/10.PNG", "set/a/x/1.png", "set/z.png", "set/.hidden/1.png"}) {
    folder_.Write(name, GreyPng(7));
  }
  folder_.Write("set/notes.txt", "no image");
  folder_.Write("set/b/\xff.png", GreyPng(9));
  std::filesystem::create_directory_symlink("b", folder_.path() / "set/link");
  const UnlabelledImages opened = Open("set");
  EXPECT_THAT(Names(opened), ElementsAre("z.png", "a/x/1.png", "b/10.PNG", "b/2.png", "b/\xff.png"));
  EXPECT_EQ(opened.passed_over, "1 .txt; 1 link to a folder, not followed");
  EXPECT_EQ(*opened.images->encoded(4), GreyPng(9));
}

TEST_F(UnlabelledDataTest, AListHasItsLinesInOrder) {
  folder_.Write("set/a b.png", GreyPng(1));
  folder_.Write("other.png", GreyPng(2));
  const std::string absolute = folder_.Path("other.png");
  folder_.Write("set/list", absl::StrCat("missing.png\r\n\r\n  a b.png \r\n", absolute));
  const UnlabelledImages opened = Open("set/list");
  EXPECT_THAT(Names(opened), ElementsAre("missing.png", "a b.png", absolute));
  EXPECT_EQ(opened.images->encoded(0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*opened.images->encoded(1), GreyPng(1));
  EXPECT_EQ(*opened.images->encoded(2), GreyPng(2));
}

TEST_F(UnlabelledDataTest, LinesWithBackslashesHaveTheNamesOfTheirFiles) {
  folder_.Write("a/1.png", GreyPng(1));
  folder_.Write("\xE9.png", GreyPng(2));
  folder_.Write("list", "a\\1.png\n\\xe9.png\n");
  folder_.Write("list.csv", "path\na\\1.png\n\\xe9.png\n");
  for (const char* list : {"list", "list.csv"}) {
    const UnlabelledImages opened = Open(list);
    EXPECT_THAT(Names(opened), ElementsAre("a/1.png", "\xE9.png")) << list;
    EXPECT_EQ(*opened.images->encoded(1), GreyPng(2));
  }
  folder_.Write("twice", "a/1.png\na\\1.png\n");
  EXPECT_THAT(std::string(Fault("twice").message()), HasSubstr("a/1.png occurs twice"));
}

TEST_F(UnlabelledDataTest, AListForEvaluationsLosesItsLabels) {
  folder_.Write("a.png", GreyPng(1));
  folder_.Write("list.csv", "label,path\ncat,a.png\ndog,b.png\n");
  const UnlabelledImages opened = Open("list.csv");
  EXPECT_THAT(Names(opened), ElementsAre("a.png", "b.png"));
  EXPECT_EQ(*opened.images->encoded(0), GreyPng(1));
}

TEST_F(UnlabelledDataTest, AListNeedsNoColumnOfLabels) {
  folder_.Write("one.csv", "image\na.png\nb b.png\n");
  folder_.Write("three.csv", "width,image,height\n3,a.png,4\n3,b b.png,4\n");
  folder_.Write("lines.jsonl", "{\"image\": \"a.png\"}\n{\"image\": \"b b.png\"}\n");
  for (const char* list : {"one.csv", "three.csv", "lines.jsonl"}) {
    EXPECT_THAT(Names(Open(list)), ElementsAre("a.png", "b b.png")) << list;
  }
  folder_.Write("empty.csv", "image,width\na.png,3\n,4\n");
  EXPECT_THAT(std::string(Fault("empty.csv").message()), HasSubstr("empty.csv line 3: expected a path"));
}

TEST_F(UnlabelledDataTest, TarFilesHaveTheirImagesWithoutLabels) {
  folder_.Write("set/test-1.tar", TarMemberBytes("n/b.png", GreyPng(3)) + TarMemberBytes("n/b.cls", "1") + TarEnd());
  folder_.Write("set/train-0.tar", TarMemberBytes("z.png", GreyPng(1)) + TarMemberBytes("._z.png", "x") +
                                       TarMemberBytes("__MACOSX/z.png", "x") + TarMemberBytes("h.png", "", '1') +
                                       TarMemberBytes("l.png", "", '2') + TarMemberBytes("a.png", GreyPng(2)) +
                                       TarEnd());
  for (const char* source : {"set", "set/{test,train}-*.tar"}) {
    const UnlabelledImages opened = Open(source);
    EXPECT_THAT(Names(opened), ElementsAre("test-1.tar/n/b.png", "train-0.tar/z.png", "train-0.tar/a.png"));
    EXPECT_EQ(opened.passed_over, "1 .cls; 2 links");
    EXPECT_EQ(*opened.images->encoded(0), GreyPng(3));
    EXPECT_EQ(*opened.images->encoded(1), GreyPng(1));
    EXPECT_EQ(*opened.images->encoded(2), GreyPng(2));
  }
}

TEST_F(UnlabelledDataTest, ATarFileThatChangedIsNotRead) {
  folder_.Write("a.tar", TarMemberBytes("z.png", GreyPng(1)) + TarEnd());
  const UnlabelledImages opened = Open("a.tar");
  folder_.Write("a.tar", TarMemberBytes("y.png", GreyPng(1)) + TarMemberBytes("z.png", GreyPng(1)) + TarEnd());
  EXPECT_EQ(opened.images->encoded(0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(UnlabelledDataTest, SourcesWithoutImagesAreRefused) {
  folder_.Write("empty/notes.txt", "");
  folder_.Write("empty.txt", "\n\n");
  folder_.Write("twice.txt", "a.png\nb.png\na.png\n");
  folder_.Write("a.tar.gz", "\x1f\x8b");
  folder_.Write("a.tar.bz2", "BZh");
  folder_.Write("a.png", GreyPng(1));
  folder_.Write("none.tar", TarMemberBytes("a.txt", "x") + TarEnd());
  folder_.Write("twice.tar", TarMemberBytes("a.png", "x") + TarMemberBytes("a.png", "y") + TarEnd());
  const auto expect = [&](const std::string& source, absl::StatusCode code, const std::string& part) {
    EXPECT_EQ(Fault(source).code(), code) << source;
    EXPECT_THAT(std::string(Fault(source).message()), AllOf(HasSubstr(source), HasSubstr(part)));
  };
  expect("none", absl::StatusCode::kNotFound, "there is no folder, list or tar file");
  expect("empty", absl::StatusCode::kNotFound, "no .tar file");
  expect("empty.txt", absl::StatusCode::kNotFound, "names no image");
  expect("none.tar", absl::StatusCode::kNotFound, "no member ends with");
  expect("twice.txt", absl::StatusCode::kInvalidArgument, "a.png occurs twice");
  expect("twice.tar", absl::StatusCode::kInvalidArgument, "twice.tar/a.png occurs twice");
  expect("a.tar.gz", absl::StatusCode::kInvalidArgument, "decompress it first");
  expect("a.tar.bz2", absl::StatusCode::kInvalidArgument, "decompress it first");
  expect("a.png", absl::StatusCode::kInvalidArgument, "is an image");
  EXPECT_THAT(std::string(OpenUnlabelled("s3://bucket/images").status().message()), HasSubstr("is a URL"));
}

}  // namespace
}  // namespace vitrine
