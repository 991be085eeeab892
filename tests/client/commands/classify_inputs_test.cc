// SPDX-License-Identifier: Apache-2.0
// Tests the inputs of `vitrine classify`, and drawings with several kinds of attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "client/commands/classify_command.h"
#include "common/imaging/decode.h"
#include "tests/client/lib/every_kind.h"
#include "tests/common/imaging/images.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;

class ClassifyInputs : public testing::Test {
 protected:
  void SetUp() override {
    command_.client.address = server_.address();
    command_.format = Format::kJson;
  }

  absl::StatusOr<int> RunCommand() { return RunClassify(command_, Page(), out_, errors_); }
  std::vector<nlohmann::json> Lines() const { return JsonLines(out_.str()); }
  std::vector<std::string> Images() const {
    std::vector<std::string> images;
    for (const auto& line : Lines()) images.push_back(line["image"]);
    return images;
  }

  const ScratchFolder folder_;
  const SmallServer server_{ServerWithEveryKind()};
  ClassifyCommand command_;
  std::ostringstream out_, errors_;
};

TEST_F(ClassifyInputs, EveryFaultIsReportedAndTheOtherImagesAreClassified) {
  folder_.Write("in/deep/a.png", GreyPng(20, 10));
  folder_.Write("in/cut.png", GreyPng(20, 10).substr(0, 40));
  folder_.Write("in/empty.jpg", "");
  folder_.Write("bare/notes.txt", "none");
  folder_.Write("list", folder_.Path("in/deep/a.png") + "\n" + folder_.Path("gone.png") + "\n");
  command_.paths = {folder_.Path("in"), folder_.Path("bare"), folder_.Path("*.webp")};
  command_.search = {.recursive = true, .files_from = folder_.Path("list")};
  EXPECT_EQ(RunCommand().value_or(-1), 5);
  EXPECT_THAT(Images(), ElementsAre(folder_.Path("in/cut.png"), folder_.Path("in/empty.jpg"),
                                    folder_.Path("in/deep/a.png"), folder_.Path("bare"), folder_.Path("*.webp"),
                                    folder_.Path("in/deep/a.png"), folder_.Path("gone.png")))
      << "results must be in the order of the inputs";
  const auto lines = Lines();
  EXPECT_EQ(lines[0]["error"], "this is no image");
  EXPECT_EQ(lines[0]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(lines[6]["code"], "NOT_FOUND");
  EXPECT_FALSE(lines[0].contains("predictions"));
  EXPECT_FALSE(lines[2].contains("error"));
  EXPECT_EQ(errors_.str(),
            "vitrine: skipped: 1 .txt\n"
            "vitrine: " +
                folder_.Path("in/cut.png") + ": this is no image\n" +                   //
                "vitrine: " + folder_.Path("in/empty.jpg") + ": the file is empty\n" +  //
                "vitrine: " + folder_.Path("bare") +
                ": no image (.jpg, .jpeg, .jpe, .jfif, .png or .webp) in this folder\n" +    //
                "vitrine: " + folder_.Path("*.webp") + ": no file matches this pattern\n" +  //
                "vitrine: " + folder_.Path("gone.png") + ": no such file or directory\n");
}

TEST_F(ClassifyInputs, ClassifiesAnImageOnTheStandardInput) {
  const std::string file = folder_.Write("a.png", GreyPng(20, 10));
  const int before = dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(file.c_str(), "rb", stdin), nullptr);
  command_.paths = {"-"};
  command_.attention.folder = folder_.Path("out");
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  dup2(before, STDIN_FILENO);
  close(before);
  EXPECT_THAT(Images(), ElementsAre("-"));
  EXPECT_EQ(Lines()[0]["predictions"][0]["label"], "width 20");
  EXPECT_EQ(Lines()[0]["attention"][0]["file"], folder_.Path("out/stdin.class.layer1.png"));
}

TEST_F(ClassifyInputs, AnImageAboveTheServersLimitIsReduced) {
  const std::string photograph = folder_.Write("large.jpg", JpegFile(SmoothImage(5000, 3500, 3), {.quality = 70}));
  folder_.Write("small.png", GreyPng(20, 10));
  command_.paths = {photograph, folder_.Path("small.png")};
  command_.attention.folder = folder_.Path("out");
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["sent_as"], nlohmann::json::parse(R"({"width": 2500, "height": 1750})"));
  EXPECT_FALSE(lines[1].contains("sent_as"));
  EXPECT_EQ(errors_.str(),
            "vitrine: " + photograph + ": 5000 x 3500 pixels are more than the server accepts; sent as 2500 x 1750\n");
  EXPECT_TRUE(Decode(folder_.Read("out/large.class.layer1.png")).ok())
      << "the map must be drawn over the smaller image";
}

TEST_F(ClassifyInputs, DrawsEveryKindSideBySide) {
  command_.paths = {folder_.Write("a.png", GreyPng(32, 20))};
  command_.attention = {.folder = folder_.Path("out"), .side_by_side = true};
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  std::vector<std::string> kinds;
  const auto attention = Lines().at(0)["attention"];
  for (const auto& map : attention) {
    kinds.push_back(map["kind"]);
    EXPECT_EQ(map["file"], folder_.Path("out/a.attention.png"));
  }
  EXPECT_THAT(kinds, ElementsAre("class", "mean", "rollout", "class-attention"));
  const auto sheet = Decode(folder_.Read("out/a.attention.png"));
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  EXPECT_GT(sheet->width, 5 * 200);
}

TEST_F(ClassifyInputs, LayersOfSeveralKindsAreRows) {
  command_.paths = {folder_.Write("a.png", GreyPng(32, 20))};
  command_.attention = {.folder = folder_.Path("out"),
                        .kinds = {v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::WEIGHTS, v1::DISTANCE},
                        .layers = {.all = true},
                        .side_by_side = true};
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  const auto attention = Lines().at(0)["attention"];
  ASSERT_EQ(attention.size(), 6u) << attention;
  EXPECT_EQ(attention[5]["kind"], "distance");
  EXPECT_EQ(attention[5]["file"], folder_.Path("out/a.distance.svg")) << "a plot must stay a separate file";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(attention[i]["file"], folder_.Path("out/a.attention.png"));
  EXPECT_GT(Decode(folder_.Read("out/a.attention.png"))->height, 2 * 200);
}

}  // namespace
}  // namespace vitrine
