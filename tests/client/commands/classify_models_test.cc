// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_split.h"
#include "common/imaging/decode.h"
#include "tests/client/lib/every_kind.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ClassifyModels : public testing::Test {
 protected:
  void SetUp() override {
    command_.client.address = server_.address();
    command_.models = {{.name = "sizes"}, {.name = "sizes", .version = 3}};
    command_.paths = {folder_.Write("a.png", GreyPng(20, 12)), folder_.Write("cut.png", GreyPng(20, 10).substr(0, 40)),
                      folder_.Write("b.png", GreyPng(8, 32))};
  }

  absl::StatusOr<int> RunModels() { return RunClassifyModels(command_, Page(), out_, errors_); }

  const ScratchFolder folder_;
  const SmallServer server_{ServerWithEveryKind()};
  ClassifyCommand command_;
  std::ostringstream out_, errors_;
};

TEST_F(ClassifyModels, TheTableHasARowForEachModelAndAFaultIsReportedOnce) {
  EXPECT_EQ(RunModels().value_or(-1), 1);
  const std::string text = out_.str();
  EXPECT_THAT(text, HasSubstr("sizes version 3"));
  EXPECT_THAT(text, HasSubstr("width 20 "));
  EXPECT_THAT(text, HasSubstr("width 8 "));
  EXPECT_EQ(errors_.str(), "vitrine: " + command_.paths[1] + ": this is no image\n");
}

TEST_F(ClassifyModels, JsonHasALineForEachImageAndModel) {
  command_.format = Format::kJson;
  EXPECT_EQ(RunModels().value_or(-1), 1);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 6u);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto line = nlohmann::json::parse(lines[i]);
    EXPECT_EQ(line["image"], command_.paths[i / 2]);
    EXPECT_EQ(line.contains("error"), i / 2 == 1) << line;
  }
}

TEST_F(ClassifyModels, TheSheetHasAColumnForEachModel) {
  command_.models_sheet = folder_.Path("models.png");
  EXPECT_EQ(RunModels().value_or(-1), 1);
  const auto two = Decode(folder_.Read("models.png"));
  ASSERT_TRUE(two.ok()) << two.status();
  command_.models.pop_back();
  EXPECT_EQ(RunModels().value_or(-1), 1);
  const auto one = Decode(folder_.Read("models.png"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->height, two->height);
  EXPECT_GE(two->width, one->width + 200) << "the sheet must have one more tile";
}

TEST_F(ClassifyModels, TooManyImagesForASheetAreRefusedBeforeAnyIsSent) {
  command_.models_sheet = folder_.Path("models.png");
  command_.paths.resize(41, command_.paths[0]);
  EXPECT_THAT(std::string(RunModels().status().message()), HasSubstr("at most 40 images, not 41"));
  EXPECT_EQ(out_.str() + errors_.str(), "");
}

TEST_F(ClassifyModels, ThePageDescribesFailures) {
  command_.models_sheet = folder_.Path("models.html");
  EXPECT_EQ(RunModels().value_or(-1), 1);
  const std::string page = folder_.Read("models.html");
  EXPECT_THAT(page, HasSubstr("sizes version 3: this is no image"));
  EXPECT_THAT(page, HasSubstr("sizes version 3: width 20 "));
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,"));
}

// Version 4 answers the requests that name no version, as if it had a share of the traffic. The model has 12 layers,
// but the answer has attention maps of only 2 layers.
TEST_F(ClassifyModels, EachColumnNamesItsVersionLayerAndDoubt) {
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.models.mutable_versions(0)->set_layers(12);
  methods.classify = [](const auto& request, auto* response, auto*) {
    const grpc::Status status = AnswerWithEveryKind(request, response);
    if (!request.has_version()) response->mutable_served_by()->set_version(4);
    response->set_unsure(true);
    return status;
  };
  const SmallServer server(methods);
  command_.client.address = server.address();
  command_.models = {{.name = "sizes"}};
  command_.paths = {folder_.Write("a.png", GreyPng(20, 12))};
  command_.top_k = 2;
  command_.models_sheet = folder_.Path("models.html");
  EXPECT_EQ(RunModels().value_or(-1), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("unsure: width 20 50.0 %"), Not(HasSubstr("unsure: width 21"))));
  const std::string page = folder_.Read("models.html");
  EXPECT_THAT(page, HasSubstr("sizes version 3: unsure: width 20 50.0 %, width 21 50.0 %"));
  EXPECT_THAT(page, HasSubstr("Attention of the class token, layer 1, mean over heads"));
  out_.str("");
  command_.format = Format::kJson;
  EXPECT_EQ(RunModels().value_or(-1), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["version"], 3);
}

TEST_F(ClassifyModels, JsonHasTheSizeOfAReducedImage) {
  command_.format = Format::kJson;
  command_.paths = {folder_.Write("long.png", GreyPng(8200, 2100))};
  EXPECT_EQ(RunModels().value_or(-1), 0) << errors_.str();
  for (const nlohmann::json& line : JsonLines(out_.str())) {
    EXPECT_EQ(line["sent_as"], nlohmann::json::parse(R"({"width": 4100, "height": 1050})"));
  }
}

TEST_F(ClassifyModels, AnEmptySheetAndTwoReadsOfTheStandardInputAreRefused) {
  command_.paths = {folder_.Path("cut.png")};
  command_.models_sheet = folder_.Path("models.png");
  EXPECT_THAT(RunModels().status().ToString(), HasSubstr("no image could be read"));
  command_.paths = {"-"};
  EXPECT_THAT(RunModels().status().ToString(), HasSubstr("the standard input can be read only once"));
}

}  // namespace
}  // namespace vitrine
