// SPDX-License-Identifier: Apache-2.0
#include "client/score/chunk_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr size_t kNpyHeader = 192;

v1::ClassifyResponse AnswerOf(int first, bool unsure) {
  v1::ClassifyResponse answer;
  answer.set_unsure(unsure);
  answer.mutable_served_by()->set_version(3);
  answer.mutable_served_by()->set_weights_sha256("abc");
  for (int i = 0; i < 2; ++i) {
    v1::Prediction& prediction = *answer.add_predictions();
    prediction.set_index(first + i);
    prediction.set_label(absl::StrCat("class ", first + i));
    prediction.set_probability(i == 0 ? 0.75F : 0.125F);
  }
  return answer;
}

template <typename Value>
std::vector<Value> Values(const std::string& npy) {
  std::vector<Value> values((npy.size() - kNpyHeader) / sizeof(Value));
  std::memcpy(values.data(), npy.data() + kNpyHeader, values.size() * sizeof(Value));
  return values;
}

class ThreeImageChunk : public ::testing::Test {
 protected:
  const ScratchFolder folder_;
  const ScoreSettings settings_ = {
      .model = "m", .version = 3, .weights_sha256 = "abc", .top_k = 2, .vectors = "mean", .width = 2};
  ChunkWriter writer_{settings_, 40, 3};
};

TEST_F(ThreeImageChunk, RowsFollowTheOrderOfTheImages) {
  writer_.AddFailure(42, "c\xff.png", Outcome::kUnreadable, absl::NotFoundError("gone \"away\""));
  writer_.Add(41, "b.png", AnswerOf(4, true), {3, 4});
  EXPECT_EQ(writer_.chunk(), (ScoreChunk{.first = 40})) << "the first has no result yet";
  writer_.Add(40, "a \"quoted\".png", AnswerOf(1, false), {1, 2});
  EXPECT_EQ(writer_.chunk(), (ScoreChunk{.first = 40, .images = 3, .unsure = 1, .unreadable = 1}));
  ASSERT_TRUE(writer_.Write(folder_.path().string()).ok());

  const std::vector<std::string> lines = absl::StrSplit(folder_.Read("chunk-0000000040.jsonl"), '\n');
  ASSERT_EQ(lines.size(), 4u);
  const Json first = Json::parse(lines[0]), failed = Json::parse(lines[2]);
  EXPECT_EQ(first["index"], 40);
  EXPECT_EQ(first["image"], "a \"quoted\".png");
  EXPECT_EQ(first["version"], 3);
  EXPECT_EQ(first["weights_sha256"], "abc");
  EXPECT_EQ(first["unsure"], false);
  EXPECT_EQ(first["predictions"][1]["label"], "class 2");
  EXPECT_EQ(first["predictions"][0]["probability"], 0.75);
  EXPECT_EQ(Json::parse(lines[1])["unsure"], true);
  EXPECT_EQ(failed["index"], 42);
  EXPECT_EQ(failed["image"], "c\\xff.png");
  EXPECT_EQ(failed["error"], "gone \"away\"");
  EXPECT_EQ(failed["code"], "NOT_FOUND");

  const std::string classes = folder_.Read("chunk-0000000040.classes.npy");
  EXPECT_THAT(classes, HasSubstr("'descr': '<i4', 'fortran_order': False, 'shape': (3, 2)"));
  EXPECT_EQ(Values<int32_t>(classes), (std::vector<int32_t>{1, 2, 4, 5, -1, -1}));
  const std::vector<float> probabilities = Values<float>(folder_.Read("chunk-0000000040.probabilities.npy"));
  const std::vector<float> vectors = Values<float>(folder_.Read("chunk-0000000040.vectors.npy"));
  ASSERT_EQ(probabilities.size(), 6u);
  ASSERT_EQ(vectors.size(), 6u);
  EXPECT_EQ(probabilities[3], 0.125F);
  EXPECT_EQ(vectors[3], 4);
  EXPECT_TRUE(std::isnan(probabilities[4]) && std::isnan(vectors[5])) << "a failed image has no numbers";
}

TEST(ChunkWriter, RegistersAreOneArrayPerImage) {
  const ScratchFolder folder;
  const ScoreSettings settings = {.top_k = 0, .vectors = "registers", .width = 2, .registers = 3};
  ChunkWriter writer(settings, 0, 2);
  writer.Add(0, "a", AnswerOf(1, false), {1, 2, 3, 4, 5, 6});
  writer.AddFailure(1, "b", Outcome::kRefused, absl::InvalidArgumentError("no image"));
  ASSERT_TRUE(writer.Write(folder.path().string()).ok());
  const std::string npy = folder.Read("chunk-0000000000.vectors.npy");
  EXPECT_THAT(npy, HasSubstr("'shape': (2, 3, 2)"));
  const std::vector<float> vectors = Values<float>(npy);
  ASSERT_EQ(vectors.size(), 12u);
  EXPECT_EQ(vectors[5], 6);
  EXPECT_TRUE(std::isnan(vectors[6]) && std::isnan(vectors[11]));
}

TEST_F(ThreeImageChunk, OnlyRowsBeforeAGapAreWritten) {
  writer_.Add(40, "a", AnswerOf(1, false), {1, 2});
  writer_.Add(42, "c", AnswerOf(1, true), {1, 2});
  EXPECT_EQ(writer_.chunk(), (ScoreChunk{.first = 40, .images = 1}));
  ASSERT_TRUE(writer_.Write(folder_.path().string()).ok());
  EXPECT_EQ(Values<float>(folder_.Read("chunk-0000000040.vectors.npy")), (std::vector<float>{1, 2}));
}

TEST_F(ThreeImageChunk, UnwritableFilesAreAnError) {
  writer_.Add(40, "a", AnswerOf(1, false), {1, 2});
  EXPECT_THAT(std::string(writer_.Write("/nowhere").status().message()),
              HasSubstr("/nowhere/chunk-0000000040.classes.npy"));
}

TEST_F(ThreeImageChunk, FilesOfAKilledRunAreReplaced) {
  folder_.Write("chunk-0000000040.jsonl", "torn");
  folder_.Write("chunk-0000000040.vectors.npy.new", "torn");
  writer_.Add(40, "a", AnswerOf(1, false), {1, 2});
  ASSERT_TRUE(writer_.Write(folder_.path().string()).ok());
  EXPECT_THAT(folder_.Read("chunk-0000000040.jsonl"), HasSubstr("\"index\":40"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "chunk-0000000040.vectors.npy.new"));
}

}  // namespace
}  // namespace vitrine
