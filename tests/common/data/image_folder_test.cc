// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/data/grey_images.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImageFolder, ClassesAndFilesAreSorted) {
  ScratchFolder folder;
  folder.Write("train/dog/2.PNG", GreyPng(2));
  folder.Write("train/dog/10.png", GreyPng(10));
  folder.Write("train/cat/b.png", GreyPng(7));
  folder.Write("train/cat/notes.txt", "not an image");
  folder.Write("train/cat/.hidden.png", GreyPng(1));
  folder.Write("test/dog/1.png", GreyPng(3));
  const auto train = OpenImageFolder(folder.path(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT((*train)->labels(), ElementsAre("cat", "dog"));
  EXPECT_THAT(NamesOf(**train), ElementsAre("cat/b.png", "dog/10.png", "dog/2.PNG"));
  EXPECT_EQ((*train)->label(0), 0);
  EXPECT_EQ((*train)->label(2), 1);
  EXPECT_EQ((*train)->image(1)->pixels[0], 10);
  EXPECT_EQ(*(*train)->encoded(1), GreyPng(10));

  const auto test = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT((*test)->labels(), ElementsAre("cat", "dog")) << "the classes must be those of the training split";
  EXPECT_EQ((*test)->label(0), 1);
}

TEST(ImageFolder, WithoutSplitsBothAreTheSame) {
  ScratchFolder folder;
  folder.Write("a/1.png", GreyPng(1));
  folder.Write("b/1.png", GreyPng(2));
  const auto train = *OpenImageFolder(folder.path(), Split::kTrain),
             test = *OpenImageFolder(folder.path(), Split::kTest);
  EXPECT_EQ(NamesOf(*train), NamesOf(*test));
  EXPECT_TRUE(SameImages(*train, *test));
}

TEST(ImageFolder, SplitsWithEqualNamesAreDistinguishedByContent) {
  ScratchFolder folder;
  for (const std::string split : {"train", "test"}) {
    folder.Write(split + "/a/1.png", GreyPng(split == "train" ? 1 : 3));
    folder.Write(split + "/b/1.png", GreyPng(2));
  }
  const auto train = *OpenImageFolder(folder.path(), Split::kTrain),
             test = *OpenImageFolder(folder.path(), Split::kTest);
  EXPECT_EQ(NamesOf(*train), NamesOf(*test));
  EXPECT_FALSE(SameImages(*train, *test)) << "the first images differ";
}

TEST(ImageFolder, ValidationReplacesAMissingTestSplit) {
  ScratchFolder folder;
  folder.Write("train/a/1.webp", GreyPng(1));
  EXPECT_THAT((*OpenImageFolder(folder.path(), Split::kTrain))->labels(), ElementsAre("a"));
  const auto none = OpenImageFolder(folder.path(), Split::kTest);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound) << "training images must not be used as test split";
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("test/, testing/, val/, valid/, validation/"));
  folder.Write("val/a/2.JPEG", GreyPng(2));
  EXPECT_THAT(NamesOf(**OpenImageFolder(folder.path(), Split::kTest)), ElementsAre("a/2.JPEG"));
  folder.Write("test/a/3.png", GreyPng(3));
  EXPECT_THAT(NamesOf(**OpenImageFolder(folder.path(), Split::kTest)), ElementsAre("a/3.png"));
}

TEST(ImageFolder, ATestSplitNeedsNoTrainingSplit) {
  for (const std::string split : {"test", "val"}) {
    ScratchFolder folder;
    folder.Write(split + "/dog/1.png", GreyPng(1));
    folder.Write(split + "/cat/1.png", GreyPng(2));
    const auto test = OpenImageFolder(folder.path(), Split::kTest);
    ASSERT_TRUE(test.ok()) << test.status();
    EXPECT_THAT((*test)->labels(), ElementsAre("cat", "dog"));
    EXPECT_THAT(NamesOf(**test), ElementsAre("cat/1.png", "dog/1.png"));
    const auto train = OpenImageFolder(folder.path(), Split::kTrain);
    EXPECT_EQ(train.status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(train.status().message()), HasSubstr("has " + split + "/ but no train/"));
  }
}

TEST(ImageFolder, AClassMayBeNamedTest) {
  ScratchFolder folder;
  folder.Write("test/1.png", GreyPng(1));
  folder.Write("trial/1.png", GreyPng(2));
  const auto data = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT((*data)->labels(), ElementsAre("test", "trial"));
}

TEST(ImageFolder, ClassesThatOnlyTheTestSplitHasComeLast) {
  ScratchFolder folder;
  folder.Write("train/b/1.png", GreyPng(1));
  folder.Write("train/d/1.png", GreyPng(2));
  for (const std::string name : {"a", "c", "d"}) folder.Write("test/" + name + "/1.png", GreyPng(3));
  const auto test = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT((*test)->labels(), ElementsAre("b", "d", "a", "c"));
  EXPECT_THAT(NamesOf(**test), ElementsAre("a/1.png", "c/1.png", "d/1.png"));
  EXPECT_EQ((*test)->label(0), 2);
  EXPECT_EQ((*test)->label(2), 1);
  EXPECT_THAT((*OpenImageFolder(folder.path(), Split::kTrain))->labels(), ElementsAre("b", "d"))
      << "test images must not change the training classes";
}

TEST(ImageFolder, EmptyAndMissingFoldersAreRefused) {
  ScratchFolder folder;
  EXPECT_EQ(OpenImageFolder(folder.path() / "none", Split::kTrain).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenImageFolder(folder.path(), Split::kTrain).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ImageFolder, SkippedFilesAreReportedInOneLine) {
  ScratchFolder folder;
  for (const char* name : {"cat/1.png", "cat/2.JFIF", "cat/3.jpe", "cat/4.bmp", "cat/deep/5.png", "cat/._1.png",
                           "dog/1.png", "dog/2.gif", "6.png", "__MACOSX/cat/7.png"}) {
    folder.Write(name, GreyPng(1));
  }
  std::filesystem::create_directory(folder.Path("bird"));
  std::filesystem::create_directory_symlink("..", folder.Path("cat/up"));
  const auto data = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(NamesOf(**data), ElementsAre("cat/1.png", "cat/2.JFIF", "cat/3.jpe", "dog/1.png"));
  EXPECT_THAT((*data)->labels(), ElementsAre("cat", "dog"));
  EXPECT_TRUE((*data)->undivided());
  EXPECT_THAT((*data)->remarks(),
              ElementsAre("skipped in " + folder.path().string() +
                          ": 1 .bmp, 1 .gif; 1 image in folders of cat/; 1 image outside the class folders; 1 link "
                          "to a folder, not followed; 1 folder without images, not classes: bird"));
}

TEST(ImageFolder, FilesBesideTheSplitsAreReported) {
  ScratchFolder folder;
  for (const char* name :
       {"train/cat/1.png", "test/cat/1.png", "val/cat/1.png", "bird/1.png", "loose.png", "notes.md"}) {
    folder.Write(name, GreyPng(1));
  }
  const std::string expected =
      "skipped in " + folder.path().string() + ", beside train/ and test/: 1 image; the folders bird/, val/";
  for (const Split split : {Split::kTrain, Split::kTest}) {
    EXPECT_THAT((*OpenImageFolder(folder.path(), split))->remarks(), ElementsAre(expected));
  }
}

TEST(ImageFolder, WithAnUnlabelledTestFolderValidationIsTheTestSplit) {
  for (const std::string unlabelled : {"test/1.png", "test/unknown/1.png"}) {
    ScratchFolder folder;
    for (const std::string& name : {std::string("train/cat/1.png"), std::string("val/cat/2.png"), unlabelled}) {
      folder.Write(name, GreyPng(1));
    }
    const auto test = OpenImageFolder(folder.path(), Split::kTest);
    ASSERT_TRUE(test.ok()) << test.status();
    EXPECT_THAT(NamesOf(**test), ElementsAre("cat/2.png")) << unlabelled;
    EXPECT_THAT((*test)->remarks(),
                ElementsAre(folder.path().string() + ": test/ has no class of train/, so val/ is the test split"));
  }
  ScratchFolder folder;
  folder.Write("train/cat/1.png", GreyPng(1));
  folder.Write("test/1.png", GreyPng(1));
  EXPECT_THAT(std::string(OpenImageFolder(folder.path(), Split::kTest).status().message()),
              HasSubstr("if its images have no labels, put labelled ones into val/<class>/"));
}

TEST(ImageFolder, SplitsMayHaveOtherSpellings) {
  for (const auto& [train, test] :
       {std::pair("Train", "Test"), std::pair("TRAIN", "Val"), std::pair("Training", "Testing")}) {
    ScratchFolder folder;
    folder.Write(std::string(train) + "/cat/1.png", GreyPng(1));
    folder.Write(std::string(test) + "/cat/2.png", GreyPng(2));
    EXPECT_THAT(NamesOf(**OpenImageFolder(folder.path(), Split::kTrain)), ElementsAre("cat/1.png"));
    EXPECT_THAT(NamesOf(**OpenImageFolder(folder.path(), Split::kTest)), ElementsAre("cat/2.png"));
    folder.Write("train/cat/3.png", GreyPng(3));
    EXPECT_THAT(NamesOf(**OpenImageFolder(folder.path(), Split::kTrain)), ElementsAre("cat/3.png"));
  }
  ScratchFolder folder;
  folder.Write("Training/1.png", GreyPng(1));
  folder.Write("Test/1.png", GreyPng(1));
  EXPECT_THAT((*OpenImageFolder(folder.path(), Split::kTrain))->labels(), ElementsAre("Test", "Training"))
      << "folders with only images must be classes";
}

TEST(ImageFolder, FoldersWithoutImagesAreNotClasses) {
  ScratchFolder folder;
  for (const char* name : {"train/b/1.png", "train/a/notes.txt", "test/a/1.png", "test/b/1.png"}) {
    folder.Write(name, GreyPng(1));
  }
  EXPECT_THAT((*OpenImageFolder(folder.path(), Split::kTrain))->labels(), ElementsAre("b"));
  const auto test = OpenImageFolder(folder.path(), Split::kTest);
  EXPECT_THAT((*test)->labels(), ElementsAre("b", "a"));
  EXPECT_FALSE((*test)->undivided());
}

TEST(ImageFolder, BrokenLinksAreErrors) {
  ScratchFolder folder;
  folder.Write("cat/1.png", GreyPng(1));
  std::filesystem::create_symlink("/nowhere/2.png", folder.Path("cat/2.png"));
  const auto data = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(NamesOf(**data), ElementsAre("cat/1.png", "cat/2.png"));
  EXPECT_EQ((*data)->image(1).status().code(), absl::StatusCode::kNotFound);
  std::filesystem::create_symlink("/nowhere/dog", folder.Path("dog"));
  const auto refused = OpenImageFolder(folder.path(), Split::kTest);
  EXPECT_EQ(refused.status(), absl::InvalidArgumentError(folder.Path("dog") + " is a broken link"));
}

TEST(ImageFolder, UnicodeFormsOfANameAreOneClass) {
  ScratchFolder folder;
  folder.Write("train/caf\xC3\xA9/1.png", GreyPng(1));
  folder.Write("test/cafe\xCC\x81/2.png", GreyPng(2));
  const auto test = OpenImageFolder(folder.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT((*test)->labels(), ElementsAre("caf\xC3\xA9"));
  EXPECT_EQ((*test)->image(0)->pixels[0], 2) << "the file must be opened by its own name";
}

}  // namespace
}  // namespace vitrine
