// SPDX-License-Identifier: Apache-2.0
#include "data/tolerant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "imaging/encode_png.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Twelve pictures of the classes a (0 to 5) and b (6 to 11); a/1, a/2 and b/5 are corrupt.
class Tolerant : public ::testing::Test {
 protected:
  Tolerant() {
    for (int i = 0; i < 12; ++i) {
      const bool corrupt = i == 1 || i == 2 || i == 11;
      const Image picture{.width = 1, .height = 1, .channels = 1, .pixels = {uint8_t(i)}};
      folder_.Write(absl::StrCat(i < 6 ? "a/" : "b/", i % 6, ".png"), corrupt ? "damaged" : *EncodePng(picture));
    }
  }
  std::unique_ptr<Dataset> Open() { return *OpenDataset("imagefolder:" + folder_.path().string(), Split::kTrain); }
  std::shared_ptr<CorruptPictures> Limit(int64_t limit) {
    reported_.clear();
    return std::make_shared<CorruptPictures>(limit, [this](const std::string& name, const absl::Status& reason) {
      EXPECT_THAT(std::string(reason.message()), HasSubstr(name));
      reported_.push_back(name);
    });
  }
  ScratchFolder folder_;
  std::vector<std::string> reported_;
};

std::vector<int> Greys(const Dataset& data) {
  std::vector<int> greys;
  for (int64_t i = 0; i < data.size(); ++i) greys.push_back(data.image(i)->pixels[0]);
  return greys;
}

TEST_F(Tolerant, TheCacheLeavesCorruptPicturesOut) {
  for (const int threads : {1, 4}) {
    const auto corrupt = Limit(3);
    const auto cached = CacheInMemory(Open(), threads, 1 << 20, corrupt.get());
    ASSERT_TRUE(cached.ok()) << cached.status();
    EXPECT_THAT(Greys(**cached), ElementsAre(0, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ((*cached)->name(1), "a/3.png");
    EXPECT_EQ((*cached)->label(4), 1);
    EXPECT_THAT((*cached)->labels(), ElementsAre("a", "b"));
    EXPECT_EQ(*(*cached)->encoded(1), *Open()->encoded(3));
    EXPECT_THAT(reported_, ElementsAre("a/1.png", "a/2.png", "b/5.png"));
    EXPECT_EQ(corrupt->names(), reported_);
    EXPECT_EQ(corrupt->count(), 3);
  }
}

TEST_F(Tolerant, WithoutTheCacheTheyAreLeftOutAsWell) {
  const auto corrupt = Limit(3);
  const auto left = LeaveOutCorrupt(Open(), 2, *corrupt);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_THAT(Greys(**left), ElementsAre(0, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(reported_, ElementsAre("a/1.png", "a/2.png", "b/5.png"));
}

TEST_F(Tolerant, OverTheLimitTheFirstOnesAndTheLimitAreNamed) {
  const auto corrupt = Limit(2);
  const auto cached = CacheInMemory(Open(), 1, 1 << 20, corrupt.get());
  EXPECT_EQ(cached.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(cached.status().message()), HasSubstr("3 pictures cannot be decoded, and 2 are tolerated"));
  EXPECT_THAT(std::string(cached.status().message()), HasSubstr("a/1.png"));
  EXPECT_THAT(std::string(cached.status().message()), HasSubstr("b/5.png"));
  EXPECT_EQ(LeaveOutCorrupt(Open(), 2, *Limit(0)).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(Tolerant, OneLimitMayServeTwoSets) {
  const auto corrupt = Limit(5);
  EXPECT_TRUE(LeaveOutCorrupt(Open(), 2, *corrupt).ok());
  EXPECT_EQ(LeaveOutCorrupt(Open(), 2, *corrupt).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(Tolerant, ManyCorruptPicturesAreNotAllNamed) {
  CorruptPictures corrupt(6);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(corrupt.Add("x", absl::InvalidArgumentError(absl::StrCat("r", i))).ok());
  const std::string message(corrupt.Add("x", absl::InvalidArgumentError("r6")).message());
  EXPECT_THAT(message, HasSubstr("r0; r1; r2; r3; r4; ..."));
  EXPECT_THAT(message, Not(HasSubstr("r5")));
}

TEST_F(Tolerant, TheNextPictureOfTheClassTakesACorruptOnesPlace) {
  const auto corrupt = Limit(3);
  const auto data = ReplaceCorrupt(Open(), corrupt);
  EXPECT_EQ(corrupt->count(), 0) << "nothing was decoded yet";
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(Greys(*data), ElementsAre(0, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 6));
    EXPECT_THAT(reported_, ElementsAre("a/1.png", "a/2.png", "b/5.png")) << "each once";
  }
  EXPECT_EQ(data->size(), 12);
  EXPECT_EQ(data->name(1), "a/1.png");
  EXPECT_EQ(*data->encoded(1), "damaged");
}

TEST_F(Tolerant, ThreadsCountEachPictureOnce) {
  const auto corrupt = Limit(3);
  const auto data = ReplaceCorrupt(Open(), corrupt);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] { EXPECT_THAT(Greys(*data), ElementsAre(0, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 6)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(reported_, UnorderedElementsAre("a/1.png", "a/2.png", "b/5.png"));
}

TEST_F(Tolerant, OverTheLimitTheAccessFails) {
  const auto data = ReplaceCorrupt(Open(), Limit(2));
  EXPECT_TRUE(data->image(1).ok());
  EXPECT_EQ(data->image(11).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(Tolerant, AClassWithoutAnyPictureIsAnError) {
  for (int i = 0; i < 6; ++i) folder_.Write(absl::StrCat("a/", i, ".png"), "damaged");
  const auto picture = ReplaceCorrupt(Open(), Limit(100))->image(3);
  EXPECT_EQ(picture.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(picture.status().message()), HasSubstr("class a"));
  for (int i = 0; i < 6; ++i) folder_.Write(absl::StrCat("b/", i, ".png"), "damaged");
  EXPECT_EQ(CacheInMemory(Open(), 2, 1 << 20, Limit(100).get()).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(Tolerant, AMissingFileIsNotTolerated) {
  auto data = Open();
  std::filesystem::remove(folder_.path() / "b/0.png");
  const auto corrupt = Limit(100);
  EXPECT_EQ(LeaveOutCorrupt(Open(), 2, *corrupt).ok(), true) << "it is not in the set any more";
  EXPECT_EQ(LeaveOutCorrupt(std::move(data), 2, *Limit(100)).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vitrine
