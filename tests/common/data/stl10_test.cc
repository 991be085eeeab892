// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/stl10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns three planes, stored column by column. The red value is the column, the green value is the row, and the blue
// value is `blue`.
std::string StoredImage(int blue) {
  std::string red, green;
  for (int x = 0; x < 96; ++x) {
    for (int y = 0; y < 96; ++y) {
      red += static_cast<char>(x);
      green += static_cast<char>(y);
    }
  }
  return red + green + std::string(96 * 96, static_cast<char>(blue));
}

class Stl10 : public ::testing::Test {
 protected:
  Stl10() {
    folder_.Write("stl10_binary/train_X.bin", StoredImage(1) + StoredImage(2) + StoredImage(3));
    folder_.Write("stl10_binary/train_y.bin", {1, 10, 4});
    folder_.Write("stl10_binary/test_X.bin", StoredImage(9));
    folder_.Write("stl10_binary/test_y.bin", {2});
  }
  absl::Status Fault() { return OpenStl10(folder_.path(), Split::kTrain).status(); }
  ScratchFolder folder_;
};

TEST_F(Stl10, ColumnsBecomeRowsAndLabelsBeginAtZero) {
  const auto train = OpenDataset("stl10:" + folder_.path().string(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_EQ((*train)->size(), 3);
  EXPECT_EQ((*train)->label(0), 0);
  EXPECT_EQ((*train)->label(1), 9);
  EXPECT_EQ((*train)->labels()[9], "truck");
  EXPECT_EQ((*train)->name(2), "train_X.bin[2]");
  const auto image = (*train)->image(2);
  ASSERT_TRUE(image.ok()) << image.status();
  const uint8_t* pixel = &image->pixels[(80 * 96 + 11) * 3];
  EXPECT_THAT(std::vector<int>(pixel, pixel + 3), ElementsAre(11, 80, 3)) << "wrong pixel in row 80, column 11";
  EXPECT_EQ((*OpenStl10(folder_.path() / "stl10_binary", Split::kTest))->label(0), 1);
}

TEST_F(Stl10, ClassNamesAreRead) {
  folder_.Write("stl10_binary/class_names.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  EXPECT_EQ((*OpenStl10(folder_.path(), Split::kTrain))->labels()[9], "j");
  folder_.Write("stl10_binary/class_names.txt", "a\nb\n\nd\ne\nf\ng\nh\ni\nj\n");
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("line 3 is empty"));
}

TEST_F(Stl10, LabelsOutOfRangeNameFileAndRecord) {
  folder_.Write("stl10_binary/train_y.bin", {1, 11, 4});
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("train_y.bin: record 1 has the label 11; labels are 1 to 10"));
  folder_.Write("stl10_binary/train_y.bin", std::string{1, 2, 0});
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("record 2 has the label 0"));
}

TEST_F(Stl10, SizesMustFit) {
  folder_.Write("stl10_binary/train_y.bin", {1, 2});
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("train_X.bin: 3 images, but there are 2 labels"));
  folder_.Write("stl10_binary/train_X.bin", StoredImage(1).substr(2));
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("records of 27648 bytes"));
  std::filesystem::remove(folder_.path() / "stl10_binary/train_X.bin");
  EXPECT_EQ(Fault().code(), absl::StatusCode::kNotFound);
  std::filesystem::remove(folder_.path() / "stl10_binary/train_y.bin");
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("train_y.bin"));
}

}  // namespace
}  // namespace vitrine
