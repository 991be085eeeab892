// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "tests/common/gzip.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using testing::Gzip;
using ::testing::HasSubstr;

std::string Idx(char type, const std::vector<int>& shape, const std::string& values) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (const int length : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift);
  }
  return bytes + values;
}

const std::vector<std::string> kTwoLabels = {"a", "b"};

// A folder with three images of 2x3 pixels with the values 0 to 17.
class IdxFolder : public ::testing::Test {
 protected:
  IdxFolder() {
    std::string values;
    for (char v = 0; v < 18; ++v) values += v;
    images_ = Idx(8, {3, 2, 3}, values);
    labels_ = Idx(8, {3}, std::string{1, 0, 1});
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() { return OpenIdx(folder_.path(), Split::kTrain, kTwoLabels); }

  ScratchFolder folder_;
  std::string images_, labels_;
};

TEST_F(IdxFolder, PlainAndGzipFilesGiveTheSameImages) {
  folder_.Write("train-images-idx3-ubyte.gz", Gzip(images_));
  folder_.Write("train-labels-idx1-ubyte", labels_);
  const auto data = Open();
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  EXPECT_EQ((*data)->label(0), 1);
  EXPECT_EQ((*data)->label(1), 0);
  EXPECT_EQ((*data)->name(2), "train-images[2]");
  const auto image = (*data)->image(1);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->width, 3);
  EXPECT_EQ(image->height, 2);
  EXPECT_EQ(image->channels, 1);
  EXPECT_THAT(image->pixels, ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST_F(IdxFolder, EncodedIsAPngOfTheSamePixels) {
  folder_.Write("train-images-idx3-ubyte", images_);
  folder_.Write("train-labels-idx1-ubyte", labels_);
  const auto data = Open();
  ASSERT_TRUE(data.ok()) << data.status();
  const auto png = (*data)->encoded(2);
  ASSERT_TRUE(png.ok()) << png.status();
  const auto decoded = Decode(*png);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->pixels, (*data)->image(2)->pixels);
}

TEST_F(IdxFolder, StoredBytesAreThePixels) {
  folder_.Write("train-images-idx3-ubyte", images_);
  folder_.Write("train-labels-idx1-ubyte", labels_);
  EXPECT_EQ(*(*Open())->stored(1), (std::string{6, 7, 8, 9, 10, 11}));
}

TEST_F(IdxFolder, MissingFileIsNamed) {
  folder_.Write("train-images-idx3-ubyte", images_);
  const auto data = Open();
  EXPECT_EQ(data.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(data.status().message()), HasSubstr("train-labels-idx1-ubyte"));
}

TEST_F(IdxFolder, CountsAndLabelsMustFit) {
  folder_.Write("train-images-idx3-ubyte", images_);
  folder_.Write("train-labels-idx1-ubyte", Idx(8, {2}, std::string{0, 0}));
  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("3 images, but there are 2 labels"));
  folder_.Write("train-labels-idx1-ubyte", Idx(8, {3}, std::string{0, 2, 0}));
  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("label 1 is 2"));
}

TEST_F(IdxFolder, AnEmptySetIsRefused) {
  folder_.Write("train-images-idx3-ubyte", Idx(8, {0, 2, 3}, ""));
  folder_.Write("train-labels-idx1-ubyte", Idx(8, {0}, ""));
  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("holds no image"));
}

TEST_F(IdxFolder, ReadsFilesLargerThanItsBuffer) {
  std::string values(5'000'000, '\0');
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * 7 / 1000);
  const auto array = ReadIdx(folder_.Write("file", Idx(8, {5, 1000, 1000}, values)));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(std::string(array->values.begin(), array->values.end()), values);
}

TEST_F(IdxFolder, DamagedFilesAreRefused) {
  const auto fault = [this](const std::string& bytes) {
    return std::string(ReadIdx(folder_.Write("file", bytes)).status().message());
  };
  EXPECT_THAT(fault("not idx"), HasSubstr("not an idx file"));
  EXPECT_THAT(fault(""), HasSubstr("not an idx file"));
  EXPECT_THAT(fault(Idx(0x0d, {1}, "1234")), HasSubstr("elements of type 0xd"));
  EXPECT_THAT(fault(images_.substr(0, 9)), HasSubstr("ends within the header"));
  EXPECT_THAT(fault(images_.substr(0, images_.size() - 1)), HasSubstr("ends after 17 of 18 bytes"));
  EXPECT_THAT(fault(images_ + "x"), HasSubstr("continues after"));
  EXPECT_THAT(fault(Idx(8, {1 << 15, 1 << 15}, "few")), HasSubstr("ends after 3 of 1073741824 bytes"));
  EXPECT_THAT(fault(Idx(8, {0x7fffffff, 0x7fffffff}, "")), HasSubstr("more than 1 GiB"));
  std::string gzip = Gzip(images_);
  gzip[gzip.size() - 12] ^= 0x55;  // damages the compressed data or their checksum
  EXPECT_FALSE(ReadIdx(folder_.Write("file.gz", gzip)).ok());
}

}  // namespace
}  // namespace vitrine
