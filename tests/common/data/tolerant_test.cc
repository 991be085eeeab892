// SPDX-License-Identifier: Apache-2.0
#include "common/data/tolerant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/imaging/encode/encode_png.h"
#include "tests/scratch_folder.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder with twelve images of the classes a (indices 0 to 5) and b (6 to 11). a/1, a/2 and b/5 are corrupt.
class CorruptImageLimit : public ::testing::Test {
 protected:
  CorruptImageLimit() {
    for (int i = 0; i < 12; ++i) {
      const bool corrupt = i == 1 || i == 2 || i == 11;
      const Image image{.width = 1, .height = 1, .channels = 1, .pixels = {uint8_t(i)}};
      folder_.Write(absl::StrCat(i < 6 ? "a/" : "b/", i % 6, ".png"), corrupt ? "damaged" : *EncodePng(image));
    }
  }
  std::unique_ptr<Dataset> Open() { return *OpenDataset("imagefolder:" + folder_.path().string(), Split::kTrain); }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  ScratchFolder folder_;
};

std::vector<int> Greys(const Dataset& data) {
  std::vector<int> greys;
  for (int64_t i = 0; i < data.size(); ++i) greys.push_back(data.image(i)->pixels[0]);
  return greys;
}

TEST_F(CorruptImageLimit, CorruptImagesAreLeftOutWithAndWithoutTheCache) {
  for (const int threads : {1, 4}) {
    for (const bool cache : {true, false}) {
      CorruptImages corrupt;
      const auto left =
          cache ? CacheInMemory(Open(), threads, 1 << 20, &corrupt) : LeaveOutCorrupt(Open(), threads, corrupt);
      ASSERT_TRUE(left.ok()) << left.status();
      EXPECT_THAT(Greys(**left), ElementsAre(0, 3, 4, 5, 6, 7, 8, 9, 10));
      EXPECT_EQ((*left)->name(1), "a/3.png");
      EXPECT_EQ((*left)->label(4), 1);
      EXPECT_THAT((*left)->labels(), ElementsAre("a", "b"));
      EXPECT_TRUE((*left)->undivided()) << "the properties of the set must not change";
      EXPECT_EQ(*(*left)->encoded(1), *Open()->encoded(3));
      EXPECT_THAT(corrupt.reasons(),
                  ElementsAre(HasSubstr(File("a/1.png")), HasSubstr(File("a/2.png")), HasSubstr(File("b/5.png"))));
    }
  }
}

TEST_F(CorruptImageLimit, AClassWithoutAnyReadableImageIsRefused) {
  for (const char* name : {"b/0.png", "b/1.png", "b/2.png", "b/3.png", "b/4.png"}) folder_.Write(name, "damaged");
  CorruptImages corrupt;
  const std::vector<int64_t> images = ImagesPerClass(*Open());
  EXPECT_THAT(images, ElementsAre(6, 6));
  const auto left = LeaveOutCorrupt(Open(), 2, corrupt);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_TRUE(corrupt.Judge(8).ok());
  corrupt.AddLostClasses(images, **left);
  const absl::Status judged = corrupt.Judge(8);
  EXPECT_EQ(judged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(judged.message()), HasSubstr("no training image of class \"b\" can be decoded"));
  EXPECT_THAT(std::string(judged.message()), HasSubstr(File("b/4.png")));
}

TEST_F(CorruptImageLimit, AboveTheLimitTheErrorListsEachImageOnce) {
  CorruptImages corrupt;
  ASSERT_TRUE(LeaveOutCorrupt(Open(), 2, corrupt).ok());
  ASSERT_TRUE(CacheInMemory(Open(), 2, 1 << 20, &corrupt).ok())
      << "the other split of the same folder must be accepted";
  EXPECT_TRUE(corrupt.Judge(3).ok());
  const absl::Status refused = corrupt.Judge(2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  const std::string message(refused.message());
  EXPECT_THAT(message, HasSubstr("3 images cannot be decoded; repair or remove them, or leave them out with "
                                 "corrupt_limit=3 (it is 2):\n  "));
  EXPECT_THAT(std::string(corrupt.Judge(std::nullopt).message()),
              HasSubstr("3 images cannot be decoded; repair or remove them:\n  "))
      << "a program without corrupt_limit must not mention it";
  for (const char* name : {"a/1.png", "a/2.png", "b/5.png"}) {
    const size_t first = message.find(File(name));
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(message.find(name, first + File(name).size()), std::string::npos) << "named twice: " << name;
  }
}

TEST_F(CorruptImageLimit, UnreadableFilesAreListed) {
  std::filesystem::create_symlink("/nowhere/c.png", folder_.path() / "a/c.png");
  std::filesystem::permissions(folder_.path() / "b/0.png", std::filesystem::perms::none);
  const WithoutRights nobody;
  CorruptImages corrupt;
  const auto left = LeaveOutCorrupt(Open(), 1, corrupt);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ((*left)->size(), 8);
  EXPECT_THAT(corrupt.reasons(), ElementsAre(HasSubstr("a/1.png"), HasSubstr("a/2.png"), HasSubstr("a/c.png cannot be"),
                                             HasSubstr("b/0.png cannot be"), HasSubstr("b/5.png")));
}

}  // namespace
}  // namespace vitrine
