// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tiny_imagenet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/data/grey_images.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TinyImageNet : public ::testing::Test {
 protected:
  TinyImageNet() {
    folder_.Write("wnids.txt", "n02\nn01\n");
    folder_.Write("words.txt", "n00\tentity\nn01\tgoldfish, Carassius auratus\nn02\tblack widow\n");
    folder_.Write("train/n01/images/n01_0.JPEG", GreyPng(1));
    folder_.Write("train/n01/n01_boxes.txt", "n01_0.JPEG\t0\t0\t1\t1\n");
    folder_.Write("train/n02/images/n02_1.JPEG", GreyPng(3));
    folder_.Write("train/n02/images/n02_0.JPEG", GreyPng(2));
    folder_.Write("val/images/val_0.JPEG", GreyPng(10));
    folder_.Write("val/images/val_1.JPEG", GreyPng(11));
    Annotate("val_1.JPEG\tn02\t0\t32\t44\t62\nval_0.JPEG\tn01\t52\t55\t57\t59\n");
  }
  void Annotate(const std::string& lines) { folder_.Write("val/val_annotations.txt", lines); }
  absl::Status Fault(Split split) { return OpenTinyImageNet(folder_.path(), split).status(); }
  std::string Message(Split split) { return std::string(Fault(split).message()); }
  ScratchFolder folder_;
};

TEST_F(TinyImageNet, ClassesAreInTheOrderOfTheFileWnids) {
  const auto train = OpenDataset("tiny-imagenet:" + folder_.path().string(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT((*train)->labels(), ElementsAre("black widow", "goldfish, Carassius auratus"));
  EXPECT_THAT(NamesOf(**train), ElementsAre("n02/images/n02_0.JPEG", "n02/images/n02_1.JPEG", "n01/images/n01_0.JPEG"));
  EXPECT_EQ((*train)->label(1), 0);
  EXPECT_EQ((*train)->label(2), 1);
  EXPECT_EQ((*train)->image(1)->pixels[0], 3);
}

TEST_F(TinyImageNet, TheAnnotatedValidationImagesAreTheTestSplit) {
  const auto test = OpenTinyImageNet(folder_.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT(NamesOf(**test), ElementsAre("images/val_0.JPEG", "images/val_1.JPEG"));
  EXPECT_EQ((*test)->label(0), 1);
  EXPECT_EQ((*test)->label(1), 0);
  EXPECT_EQ((*test)->image(1)->pixels[0], 11);
}

TEST_F(TinyImageNet, WithoutWordsTheWordNetIdsAreTheLabels) {
  std::filesystem::remove(folder_.path() / "words.txt");
  EXPECT_THAT((*OpenTinyImageNet(folder_.path(), Split::kTest))->labels(), ElementsAre("n02", "n01"));
}

TEST_F(TinyImageNet, FindsTheArchivesFolder) {
  ScratchFolder above;
  std::filesystem::copy(folder_.path(), above.path() / "tiny-imagenet-200", std::filesystem::copy_options::recursive);
  EXPECT_TRUE(OpenTinyImageNet(above.path(), Split::kTest).ok());
}

TEST_F(TinyImageNet, AnErrorNamesTheMissingFile) {
  std::filesystem::remove(folder_.path() / "val/val_annotations.txt");
  EXPECT_EQ(Fault(Split::kTest).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(Split::kTest), HasSubstr("val/val_annotations.txt"));
  EXPECT_TRUE(Fault(Split::kTrain).ok());
  std::filesystem::remove_all(folder_.path() / "train/n01");
  EXPECT_EQ(Fault(Split::kTrain).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(Split::kTrain), HasSubstr("train/n01/images"));
  std::filesystem::remove(folder_.path() / "wnids.txt");
  EXPECT_THAT(Message(Split::kTrain), HasSubstr("wnids.txt"));
}

TEST_F(TinyImageNet, AnnotationsMustFitTheImages) {
  Annotate("val_0.JPEG\tn01\nval_1.JPEG\tn99\n");
  EXPECT_THAT(Message(Split::kTest), HasSubstr("line 2 has the class n99"));
  Annotate("val_0.JPEG\tn01\n");
  EXPECT_THAT(Message(Split::kTest), HasSubstr("no line for images/val_1.JPEG"));
  Annotate("val_0.JPEG\tn01\nval_1.JPEG\tn01\nval_0.JPEG\tn02\n");
  EXPECT_THAT(Message(Split::kTest), HasSubstr("line 3 names val_0.JPEG again"));
  Annotate("val_0.JPEG\tn01\nval_1.JPEG\tn01\n../../x.JPEG\tn02\n");
  EXPECT_THAT(Message(Split::kTest), HasSubstr("line 3 names ../../x.JPEG, which is not in val/images"));
  Annotate("val_0.JPEG n01\n");
  EXPECT_THAT(Message(Split::kTest), HasSubstr("line 1 has no image and class"));
}

TEST_F(TinyImageNet, IdsMustBeUniqueAndNotPaths) {
  folder_.Write("wnids.txt", "n01\nn01\n");
  EXPECT_THAT(Message(Split::kTrain), HasSubstr("line 2 names n01 again"));
  folder_.Write("wnids.txt", "n01\n../n02\n");
  EXPECT_THAT(Message(Split::kTrain), HasSubstr("line 2 is no WordNet id"));
  folder_.Write("wnids.txt", "\n");
  EXPECT_THAT(Message(Split::kTrain), HasSubstr("names no class"));
}

}  // namespace
}  // namespace vitrine
