// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/webdataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/common/data/grey_images.h"
#include "tests/common/data/made_tar.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WebDatasetTest : public ::testing::Test {
 protected:
  static std::string Sample(const std::string& key, uint8_t grey, const std::string& label) {
    return TarMemberBytes(key + ".png", GreyPng(grey)) + TarMemberBytes(key + ".cls", label);
  }
  void Write(const std::string& shard, const std::string& members) { folder_.Write(shard, members + TarEnd()); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open(Split split) {
    return OpenDataset("tar:" + folder_.path().string(), split);
  }
  // Opens a data set with one shard that has these members. Returns the error message.
  std::string Fault(const std::string& members) {
    Write("train-0.tar", members);
    const auto data = Open(Split::kTrain);
    if (data.ok()) return "no fault";
    EXPECT_EQ(data.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(data.status().message()), HasSubstr("train-0.tar"));
    return std::string(data.status().message());
  }
  ScratchFolder folder_;
};

TEST_F(WebDatasetTest, SamplesAreInTheOrderOfShardsAndMembers) {
  Write("train-1.tar", Sample("z", 30, "2"));
  Write("train-0.tar", Sample("n01/b", 10, " 1\n") + Sample("a", 20, "0"));
  Write("test-0.tar", Sample("a", 40, "1"));
  const auto train = Open(Split::kTrain);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT(NamesOf(**train), ElementsAre("train-0.tar/n01/b", "train-0.tar/a", "train-1.tar/z"));
  EXPECT_THAT((*train)->labels(), ElementsAre("0", "1", "2"));
  EXPECT_EQ((*train)->label(0), 1);
  EXPECT_EQ((*train)->label(2), 2);
  EXPECT_EQ((*train)->image(2)->pixels[0], 30);
  EXPECT_EQ(*(*train)->encoded(1), GreyPng(20));
  const auto test = Open(Split::kTest);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT(NamesOf(**test), ElementsAre("test-0.tar/a"));
  EXPECT_THAT((*test)->labels(), ElementsAre("0", "1", "2")) << "the classes must be those of the training split";
}

TEST_F(WebDatasetTest, LabelsMayBeJsonAndMembersMayBeSeparated) {
  Write("train-0.tar", TarMemberBytes("a.cls", "1") + TarMemberBytes("b.JSON", R"({"label": 0, "x": [1]})") +
                           TarMemberBytes("b.Jpeg", GreyPng(2)) + TarMemberBytes("a.WebP", GreyPng(1)) +
                           TarMemberBytes("a.json", "no JSON, but .cls is there") +
                           TarMemberBytes("a.seg.png", "mask") + TarMemberBytes("README", "text") +
                           TarMemberBytes(".hidden.jpg", "x") + TarMemberBytes("meta.json", "{}"));
  const auto data = Open(Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(NamesOf(**data), ElementsAre("train-0.tar/b", "train-0.tar/a"));
  EXPECT_EQ((*data)->label(0), 0);
  EXPECT_EQ((*data)->label(1), 1);
  EXPECT_EQ((*data)->image(1)->pixels[0], 1);
}

TEST_F(WebDatasetTest, AcceptsLabelsFromAnyEditor) {
  Write("train-1.tar", Sample("a", 1,
                              "\xEF\xBB\xBF"
                              "1\r\n") +
                           Sample("b", 2, " 2 \r"));
  const auto data = Open(Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->label(0), 1);
  EXPECT_EQ((*data)->label(1), 2);
}

TEST_F(WebDatasetTest, TheClassesFileNamesAndLimitsTheLabels) {
  folder_.Write("classes.txt", "cat\ndog\n");
  Write("train-0.tar", Sample("a", 1, "0"));
  EXPECT_THAT((*Open(Split::kTrain))->labels(), ElementsAre("cat", "dog"));
  EXPECT_THAT(Fault(Sample("a", 1, "0") + Sample("b", 2, "2")), HasSubstr("b has the label 2; labels are 0 to 1"));
  folder_.Write("classes.txt", "cat\n\ndog\n");
  EXPECT_THAT(std::string(Open(Split::kTrain).status().message()), HasSubstr("line 2 names no class"));
  folder_.Write("classes.txt", "");
  EXPECT_FALSE(Open(Split::kTrain).ok());
}

TEST_F(WebDatasetTest, WithoutClassesTheTrainingSplitLimitsTheLabels) {
  Write("train-0.tar", Sample("a", 1, "1"));
  Write("val-0.tar", Sample("b", 1, "2"));
  EXPECT_THAT(std::string(Open(Split::kTest).status().message()), HasSubstr("b has the label 2; labels are 0 to 1"));
}

TEST_F(WebDatasetTest, AMissingSplitIsAnErrorWithTheExpectedNames) {
  Write("train-0.tar", Sample("a", 1, "1"));
  const auto test = Open(Split::kTest);
  EXPECT_EQ(test.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(test.status().message()), HasSubstr("test or val"));
  EXPECT_THAT(std::string(test.status().message()), HasSubstr("tar:PATH needs"));
}

TEST_F(WebDatasetTest, ErrorsNameShardAndKey) {
  EXPECT_THAT(Fault(TarMemberBytes("k.png", GreyPng(1))), HasSubstr("k has an image but neither k.cls nor k.json"));
  EXPECT_THAT(Fault(TarMemberBytes("k.cls", "1")), HasSubstr("k has a label but no image"));
  EXPECT_THAT(Fault(Sample("k", 1, "1") + Sample("k", 2, "1")), HasSubstr("k.png occurs twice"));
  EXPECT_THAT(Fault(Sample("k", 1, "1") + TarMemberBytes("k.jpg", GreyPng(1))), HasSubstr("k has two images"));
  EXPECT_THAT(Fault(Sample("k", 1, "one")), HasSubstr("k.cls holds no whole number"));
  EXPECT_THAT(Fault(Sample("k", 1, "")), HasSubstr("k.cls holds no whole number"));
  EXPECT_THAT(Fault(Sample("k", 1, "-1")), HasSubstr("k has the label -1"));
  EXPECT_THAT(Fault(Sample("k", 1, "2000000000")), HasSubstr("k has the label 2000000000"));
  EXPECT_THAT(Fault(Sample("k", 1, std::string(2 << 20, '1'))), HasSubstr("k.cls has 2097152 bytes"));
  EXPECT_THAT(Fault(""), HasSubstr("no image"));
  for (const std::string json : {"{}", "[1]", "3", R"({"label": "1"})", R"({"label": 1.5})"}) {
    EXPECT_THAT(Fault(TarMemberBytes("k.jpg", GreyPng(1)) + TarMemberBytes("k.json", json)),
                HasSubstr("k.json has no whole number under \"label\""));
  }
  EXPECT_THAT(Fault(TarMemberBytes("k.jpg", GreyPng(1)) + TarMemberBytes("k.json", "{")),
              HasSubstr("k.json is no JSON"));
}

TEST_F(WebDatasetTest, NamesOutsideTheFolderAreOnlyNames) {
  const std::string secret = folder_.Write("secret.png", GreyPng(99)).string();
  Write("train-0.tar", Sample("../secret", 1, "0") + Sample(secret.substr(0, secret.size() - 4), 2, "1"));
  const auto data = Open(Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->image(0)->pixels[0], 1);
  EXPECT_EQ((*data)->image(1)->pixels[0], 2);
}

TEST_F(WebDatasetTest, ACorruptImageIsNamedByShardAndKey) {
  Write("train-0.tar", TarMemberBytes("k.png", "no image") + TarMemberBytes("k.cls", "0"));
  const auto data = Open(Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->image(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string((*data)->image(0).status().message()), HasSubstr("train-0.tar: k: "));
}

TEST_F(WebDatasetTest, AChangedOpenShardIsAnError) {
  Write("train-0.tar", Sample("a", 1, "0"));
  const auto data = Open(Split::kTrain);
  Write("train-0.tar", Sample("b", 1, "0") + Sample("a", 1, "0"));
  EXPECT_EQ((*data)->image(0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(WebDatasetTest, ManyShardsAndThreadsGiveTheSameImages) {
  for (int shard = 0; shard < 20; ++shard) {
    std::string members;
    for (int i = 0; i < 10; ++i) members += Sample(absl::StrCat(i), uint8_t(shard * 10 + i), absl::StrCat(i));
    Write(absl::StrCat("train-", 100 + shard, ".tar"), members);
  }
  const auto data = Open(Split::kTrain);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 200);
  std::vector<int> seen(200);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = t; i < 200; i += 4) seen[i] = (*data)->image(i)->pixels[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(seen[i], i);
    EXPECT_EQ((*data)->label(i), i % 10);
  }
}

}  // namespace
}  // namespace vitrine
