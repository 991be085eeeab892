// SPDX-License-Identifier: Apache-2.0
#include "common/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/imaging/decode.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/fit_image.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(OpenDataset, ErrorsListTheFormats) {
  for (const std::string spec : {"mnist", "mnist:", "cifar:/x", ":", ""}) {
    const absl::Status refusal = OpenDataset(spec, Split::kTrain).status();
    EXPECT_EQ(refusal.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(std::string(refusal.message()), HasSubstr(DatasetFormats())) << spec;
  }
}

TEST(OpenDataset, EveryFormatDescribesTheFilesThatItNeeds) {
  std::istringstream formats(DatasetFormats());
  int count = 0;
  for (std::string line; std::getline(formats, line); ++count) {
    const std::string name = line.substr(2, line.find(':') - 2);
    for (const Split split : {Split::kTrain, Split::kTest}) {
      const absl::Status refusal = OpenDataset(name + ":/nowhere", split).status();
      EXPECT_EQ(refusal.code(), absl::StatusCode::kNotFound) << name;
      EXPECT_THAT(std::string(refusal.message()), HasSubstr("/nowhere"));
      EXPECT_THAT(std::string(refusal.message()), HasSubstr(" needs " + line.substr(20)));
    }
  }
  EXPECT_EQ(count, 10);
}

TEST(OpenDataset, ALargeImageIsReducedLikeAClientDoes) {
  ScratchFolder folder;
  Image wide{.width = 8400, .height = 16, .channels = 1, .pixels = {}};
  for (int i = 0; i < wide.width * wide.height; ++i) wide.pixels.push_back(static_cast<uint8_t>(i % 8400 / 40));
  const std::string file = *EncodePng(wide);
  folder.Write("train/a/wide.png", file);
  const auto data = *OpenDataset("imagefolder:" + folder.path().string(), Split::kTrain);
  const absl::StatusOr<Image> image = data->image(0);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->width, 4200);
  EXPECT_EQ(image->height, 8);
  EXPECT_EQ(*data->encoded(0), (**FitImage(file, {})).encoded);
  EXPECT_EQ(image->pixels, Decode(*data->encoded(0))->pixels);
  EXPECT_EQ(*data->stored(0), file) << "`stored` must return the original file, which digests cover";
}

class DataCache : public ::testing::Test {
 protected:
  DataCache() {
    for (int i = 0; i < 40; ++i) {
      const Image image{.width = 3, .height = 2, .channels = 1, .pixels = std::vector<uint8_t>(6, uint8_t(i))};
      folder_.Write(absl::StrCat(i % 2 == 0 ? "even/" : "odd/", 100 + i, ".png"), *EncodePng(image));
    }
  }
  std::unique_ptr<Dataset> Open() { return *OpenDataset("imagefolder:" + folder_.path().string(), Split::kTrain); }
  ScratchFolder folder_;
};

TEST_F(DataCache, HasTheSameImagesForAnyNumberOfThreads) {
  const std::unique_ptr<Dataset> plain = Open();
  for (const int threads : {1, 3}) {
    const auto cached = CacheInMemory(Open(), threads);
    ASSERT_TRUE(cached.ok()) << cached.status();
    ASSERT_EQ((*cached)->size(), 40);
    EXPECT_EQ((*cached)->labels(), plain->labels());
    for (int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ((*cached)->image(i)->pixels, plain->image(i)->pixels);
      EXPECT_EQ((*cached)->name(i), plain->name(i));
      EXPECT_EQ((*cached)->label(i), plain->label(i));
    }
    EXPECT_EQ(*(*cached)->encoded(5), *plain->encoded(5));
  }
}

TEST_F(DataCache, StopsAtItsLimit) {
  EXPECT_EQ(CacheInMemory(Open(), 2, /*max_bytes=*/100).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(CacheInMemory(Open(), 2, /*max_bytes=*/240).ok());
}

TEST_F(DataCache, ReportsACorruptImage) {
  folder_.Write("odd/105.png", "no image");
  const auto cached = CacheInMemory(Open(), 2);
  EXPECT_EQ(cached.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cached.status().message()), HasSubstr("odd/105.png"));
}

}  // namespace
}  // namespace vitrine
