// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_split.h"
#include "common/imaging/decode.h"
#include "tests/client/lib/every_kind.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClassifyCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("a.png", GreyPng(20, 10));
    folder_.Write("b.png", GreyPng(21, 10));
    folder_.Write("broken.png", "not an image");
    command_.client.address = server_.address();
    command_.format = Format::kJson;
  }

  absl::StatusOr<int> RunCommand() { return RunClassify(command_, Page(), out_, errors_); }
  std::vector<nlohmann::json> Lines() const { return JsonLines(out_.str()); }

  const ScratchFolder folder_;
  const SmallServer server_{ServerWithEveryKind()};
  ClassifyCommand command_;
  std::ostringstream out_, errors_;
};

TEST_F(ClassifyCommandTest, WritesALinePerImageInOrder) {
  command_.paths = {folder_.Path("b.png"), folder_.Path("a.png")};
  command_.top_k = 2;
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u) << out_.str();
  EXPECT_EQ(lines[0]["image"], folder_.Path("b.png"));
  EXPECT_EQ(lines[0]["model"], "sizes") << "the only model is the default";
  EXPECT_EQ(lines[0]["predictions"][0]["label"], "width 21");
  EXPECT_EQ(lines[0]["predictions"].size(), 2u);
  EXPECT_EQ(lines[1]["predictions"][0]["label"], "width 20");
}

TEST_F(ClassifyCommandTest, DrawsOverlaysUnderDistinctNames) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png"), folder_.Path("a.png")};
  command_.attention.folder = folder_.Path("deep/out");
  command_.attention.kinds = {v1::MEAN_OVER_QUERIES};
  command_.attention.layers.numbers = {1};
  command_.attention.heads.numbers = {0};
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  std::vector<std::string> files;
  for (const auto& line : Lines()) files.push_back(line["attention"][0]["file"]);
  EXPECT_THAT(files, ElementsAre(folder_.Path("deep/out/a.mean.layer1.head0.png"),
                                 folder_.Path("deep/out/b.mean.layer1.head0.png"),
                                 folder_.Path("deep/out/a-2.mean.layer1.head0.png")));
  for (const std::string name : {"a", "b", "a-2"}) {
    const auto overlay = Decode(folder_.Read("deep/out/" + name + ".mean.layer1.head0.png"));
    ASSERT_TRUE(overlay.ok()) << name << ": " << overlay.status();
    EXPECT_EQ(overlay->width, 256);
  }
}

TEST_F(ClassifyCommandTest, DrawsSheetsOfEveryLayerAndHead) {
  command_.paths = {folder_.Path("a.png")};
  command_.attention = {.folder = folder_.Path("out"), .kinds = {v1::SCORES, v1::DISTANCE}, .sheet = true};
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  const nlohmann::json attention = Lines().at(0)["attention"];
  ASSERT_EQ(attention.size(), 7u) << "expected 2 layers of 3 heads, and the distances";
  EXPECT_EQ(attention[0]["file"], folder_.Path("out/a.scores.sheet.png"));
  EXPECT_EQ(attention[5]["file"], folder_.Path("out/a.scores.sheet.png"));
  EXPECT_EQ(attention[6]["file"], folder_.Path("out/a.distance.svg"));
  EXPECT_EQ(attention[6]["values"], nlohmann::json::parse("[[0.5, 1, 1.5], [2, 2.5, 3]]"));
  out_.str("");
  command_.format = Format::kTable;
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  const std::vector<std::string> parts = absl::StrSplit(out_.str(), "a.scores.sheet.png");
  EXPECT_EQ(parts.size(), 2u) << "a sheet must be named once: " << out_.str();
}

TEST_F(ClassifyCommandTest, PlacesTheQueryOnEachImagesGrid) {
  folder_.Write("tall.png", GreyPng(12, 32));
  folder_.Write("wide.png", GreyPng(32, 12));
  command_.paths = {folder_.Path("tall.png"), folder_.Path("wide.png")};
  command_.attention = {.folder = folder_.Path("out"), .query = *ParseQuery("2,1")};
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  std::vector<std::string> files;
  for (const auto& line : Lines()) files.push_back(line["attention"][0]["file"]);
  EXPECT_THAT(files,
              ElementsAre(folder_.Path("out/tall.query7.layer1.png"), folder_.Path("out/wide.query17.layer1.png")))
      << "the grids have 8 rows of 3, and 3 rows of 8";
  command_.attention.query = *ParseQuery("4,1");
  EXPECT_EQ(RunCommand().value_or(-1), 1);
  EXPECT_EQ(errors_.str(), "vitrine: " + folder_.Path("wide.png") +
                               ": row 4, column 1 is outside the image's grid of 3x8; both count from 0\n");
}

TEST_F(ClassifyCommandTest, DrawsTheMeanDistanceOverImages) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png")};
  command_.attention = {.folder = folder_.Path("out"), .kinds = {v1::DISTANCE}};
  command_.format = Format::kTable;
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  EXPECT_THAT(out_.str(), HasSubstr("attention distance over all images: " + folder_.Path("out/distance.svg")));
  EXPECT_THAT(folder_.Read("out/distance.svg"), HasSubstr("mean over 2 images"));
}

TEST_F(ClassifyCommandTest, PrintsATableForPeople) {
  command_.paths = {folder_.path()};
  command_.format = Format::kTable;
  EXPECT_EQ(RunCommand().value_or(-1), 1);
  EXPECT_THAT(out_.str(), testing::StartsWith("image"));
  EXPECT_THAT(out_.str(), HasSubstr("width 20  50.0 %"));
  EXPECT_THAT(out_.str(), HasSubstr("\n2 images in "));
}

TEST_F(ClassifyCommandTest, AWrongModelFolderOrLayerEndsTheCommandAtOnce) {
  command_.paths = {folder_.Path("a.png")};
  command_.model = {.name = "other", .version = std::nullopt};
  EXPECT_EQ(RunCommand().status().code(), absl::StatusCode::kNotFound);
  command_.model = {};
  command_.attention.folder = folder_.Path("a.png/out");
  EXPECT_THAT(RunCommand().status().ToString(), HasSubstr("cannot make the folder"));
  command_.attention.kinds = {v1::ROLLOUT};
  command_.attention.layers.numbers = {1};
  EXPECT_THAT(RunCommand().status().ToString(), HasSubstr("rollout"));
  EXPECT_EQ(out_.str(), "");
}

TEST(ClassifyCommand, SeveralModelsNeedAChoice) {
  SmallServer::Methods methods = ServerWithEveryKind();
  *methods.models.add_versions() = methods.models.versions(0);
  methods.models.mutable_versions(1)->set_model("another");
  *methods.models.add_versions() = methods.models.versions(0);
  methods.models.mutable_versions(2)->set_model("sick");
  methods.models.mutable_versions(2)->set_state(v1::FAILED);
  const SmallServer server(methods);
  ClassifyCommand command;
  command.paths = {"a.png"};
  command.client.address = server.address();
  std::ostringstream out, errors;
  EXPECT_EQ(RunClassify(command, Page(), out, errors).status().message(),
            "the server has several models; choose one with --model: sizes, another");
}

TEST(ParseModelChoice, AcceptsNameAndVersion) {
  EXPECT_EQ(ParseModelChoice("eit")->name, "eit");
  EXPECT_EQ(ParseModelChoice("eit")->version, std::nullopt);
  EXPECT_EQ(ParseModelChoice("eit@12")->version, 12);
  EXPECT_EQ(ParseModelChoice("eit@canary")->label, "canary");
  EXPECT_EQ(ParseModelChoice("eit@1")->version, 1);
  EXPECT_EQ(ParseModelChoice("eit@az_09-")->label, "az_09-");
  EXPECT_EQ(ParseModelChoice("eit@" + std::string(32, 'a'))->label, std::string(32, 'a'));
  for (const std::string wrong :
       {"", "@1", "eit@", "eit@0", "eit@-1", "eit@X", "eit@1@2", "eit@a{", "eit@a`", "eit@a:", "eit@a/", "eit@a.b"}) {
    EXPECT_FALSE(ParseModelChoice(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(ParseModelChoice("eit@" + std::string(33, 'a')).ok());
}

TEST(ParseResolution, AcceptsHeightAndWidth) {
  EXPECT_EQ(ParseResolution("48x32")->height(), 48);
  EXPECT_EQ(ParseResolution("48x32")->width(), 32);
  EXPECT_EQ(ParseResolution("1x8192")->width(), 8192);
  EXPECT_EQ(ParseResolution("8192x1")->height(), 8192);
  EXPECT_EQ(ParseResolution("48")->height(), 48);
  EXPECT_EQ(ParseResolution("48")->width(), 48);
  for (const char* wrong :
       {"", "0", "8193", "48x", "x32", "0x32", "32x0", "48x32x3", "8193x1", "1x8193", "48X32", "a48x32"}) {
    EXPECT_FALSE(ParseResolution(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace vitrine
