// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/data/dataset.h"
#include "common/imaging/decode.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a record: labels, then three planes of 32x32 values. The red value is the column, the green value is the row,
// and the blue value is `blue`.
std::string Record(const std::string& labels, int blue) {
  std::string red, green;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      red += static_cast<char>(x);
      green += static_cast<char>(y);
    }
  }
  return labels + red + green + std::string(1024, static_cast<char>(blue));
}
std::string Label(int label) {
  return {static_cast<char>(label)};
}
std::string Labels(int coarse, int fine) {
  return {static_cast<char>(coarse), static_cast<char>(fine)};
}

class Cifar10 : public ::testing::Test {
 protected:
  Cifar10() {
    for (int batch = 1; batch <= 5; ++batch) {
      folder_.Write(absl::StrCat("data_batch_", batch, ".bin"), Record(Label(batch), 10 * batch) + Record(Label(9), 7));
    }
    folder_.Write("test_batch.bin", Record(Label(3), 200));
  }
  absl::Status Fault(Split split = Split::kTrain) { return OpenCifar10(folder_.path(), split).status(); }
  ScratchFolder folder_;
};

TEST_F(Cifar10, ImagesLabelsAndNamesAreInTheOrderOfTheBatches) {
  const auto train = OpenDataset("cifar10:" + folder_.path().string(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_EQ((*train)->size(), 10);
  EXPECT_EQ((*train)->label(4), 3);
  EXPECT_EQ((*train)->label(5), 9);
  EXPECT_EQ((*train)->name(5), "data_batch_3.bin[1]");
  EXPECT_EQ((*train)->labels()[9], "truck");
  const auto image = (*train)->image(8);
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->pixels.size(), 32u * 32 * 3);
  const uint8_t* pixel = &image->pixels[(5 * 32 + 17) * 3];
  EXPECT_THAT(std::vector<int>(pixel, pixel + 3), ElementsAre(17, 5, 50)) << "wrong pixel in row 5, column 17";
  EXPECT_EQ(Decode(*(*train)->encoded(8))->pixels, image->pixels);

  const auto test = OpenCifar10(folder_.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ((*test)->size(), 1);
  EXPECT_EQ((*test)->name(0), "test_batch.bin[0]");
}

TEST_F(Cifar10, FindsTheArchivesFolderAndItsClassNames) {
  ScratchFolder above;
  above.Write("cifar-10-batches-bin/test_batch.bin", Record(Label(1), 0));
  above.Write("cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  const auto test = OpenCifar10(above.path(), Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ((*test)->labels()[1], "b");
  above.Write("cifar-10-batches-bin/batches.meta.txt", "a\nb\n");
  EXPECT_THAT(std::string(OpenCifar10(above.path(), Split::kTest).status().message()), HasSubstr("names 2 classes"));
}

TEST_F(Cifar10, ALabelOutOfRangeNamesFileAndRecord) {
  folder_.Write("data_batch_4.bin", Record(Label(0), 0) + Record(Label(200), 0));
  EXPECT_EQ(Fault().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("data_batch_4.bin: record 1 has the label 200"));
  EXPECT_TRUE(Fault(Split::kTest).ok());
}

TEST_F(Cifar10, WrongSizesAreRefused) {
  for (const std::string& bytes : {Record(Label(0), 0) + "x", Record(Label(0), 0).substr(1), std::string()}) {
    folder_.Write("data_batch_2.bin", bytes);
    EXPECT_EQ(Fault().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Fault().message()), HasSubstr("data_batch_2.bin"));
    EXPECT_THAT(std::string(Fault().message()), HasSubstr("no whole number of records of 3073 bytes"));
  }
}

TEST_F(Cifar10, AMissingFileIsNamed) {
  std::filesystem::remove(folder_.path() / "data_batch_5.bin");
  EXPECT_EQ(Fault().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("data_batch_5.bin"));
  std::filesystem::create_directory(folder_.path() / "data_batch_5.bin");
  EXPECT_THAT(std::string(Fault().message()), HasSubstr("data_batch_5.bin: not a regular file"));
}

TEST_F(Cifar10, AShrinkingFileIsAnError) {
  const auto train = OpenCifar10(folder_.path(), Split::kTrain);
  std::filesystem::resize_file(folder_.path() / "data_batch_1.bin", 3073 + 100);
  EXPECT_TRUE((*train)->image(0).ok());
  EXPECT_EQ((*train)->image(1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Cifar100, TheFineLabelIsTheLabel) {
  ScratchFolder folder;
  folder.Write("cifar-100-binary/train.bin", Record(Labels(19, 99), 1) + Record(Labels(3, 42), 2));
  folder.Write("cifar-100-binary/test.bin", Record(Labels(0, 7), 3));
  const auto train = OpenDataset("cifar100:" + folder.path().string(), Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_EQ((*train)->size(), 2);
  EXPECT_EQ((*train)->label(0), 99);
  EXPECT_EQ((*train)->label(1), 42);
  EXPECT_EQ((*train)->labels()[42], "42");
  EXPECT_EQ((*train)->image(1)->pixels[2], 2);
  EXPECT_EQ((*OpenCifar100(folder.path(), Split::kTest))->name(0), "test.bin[0]");
  std::string names;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&names, "class ", i, "\r\n");
  folder.Write("cifar-100-binary/fine_label_names.txt", names);
  EXPECT_EQ((*OpenCifar100(folder.path(), Split::kTest))->labels()[42], "class 42");
}

TEST(Cifar100, FaultsAreNamed) {
  ScratchFolder folder;
  const auto fault = [&folder] { return std::string(OpenCifar100(folder.path(), Split::kTrain).status().message()); };
  EXPECT_THAT(fault(), HasSubstr("train.bin"));
  folder.Write("train.bin", Record(Labels(0, 1), 0) + Record(Labels(0, 100), 0));
  EXPECT_THAT(fault(), HasSubstr("train.bin: record 1 has the fine label 100"));
  folder.Write("train.bin", Record(Labels(20, 1), 0));
  EXPECT_THAT(fault(), HasSubstr("record 0 has the coarse label 20"));
  folder.Write("train.bin", Record(Label(1), 0));
  EXPECT_THAT(fault(), HasSubstr("records of 3074 bytes")) << "records of CIFAR-10 must be refused";
}

}  // namespace
}  // namespace vitrine
