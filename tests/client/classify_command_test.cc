#include "client/classify_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_split.h"
#include "imaging/decode.h"
#include "report/png.h"
#include "tests/client/small_server.h"
#include "tests/client/temporary_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A server with one model that calls every picture by its size and refuses what is no picture.
grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse* response) {
  const auto picture = Decode(request.image());
  if (!picture.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, "this is no picture"};
  response->mutable_served_by()->set_model(request.model());
  response->mutable_served_by()->set_version(request.has_version() ? request.version() : 3);
  for (int i = 0; i < request.top_k() || i == 0; ++i) {
    v1::Prediction& prediction = *response->add_predictions();
    prediction.set_label("width " + std::to_string(picture->width + i));
    prediction.set_probability(0.5f);
  }
  for (const v1::AttentionRequest& wish : request.attention()) {
    v1::AttentionMap& map = *response->add_attention();
    map.set_kind(wish.kind());
    map.set_layer(wish.layers().empty() ? 5 : wish.layers(0));
    map.set_head(wish.heads().empty() ? -1 : wish.heads(0));
    map.set_rows(1);
    map.set_columns(2);
    map.set_encoding(wish.encoding());
    map.set_values(std::string("\x00\x3c\x00\x40", 4));  // 1 and 2 in half precision
    map.mutable_covers()->set_width(static_cast<float>(picture->width));
    map.mutable_covers()->set_height(static_cast<float>(picture->height));
  }
  return grpc::Status::OK;
}

SmallServer::Methods OneModel() {
  SmallServer::Methods methods;
  methods.classify = [](const auto& request, auto* response, auto*) { return Classify(request, response); };
  methods.stream = [](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      v1::ClassifyStreamResponse answer;
      answer.set_request_id(request.request_id());
      const grpc::Status status = Classify(request, answer.mutable_response());
      stream->Write(status.ok() ? answer : StreamErrorTo(request, status.error_code(), status.error_message()));
    }
    return grpc::Status::OK;
  };
  v1::ModelVersion& model = *methods.models.add_versions();
  model.set_model("sizes");
  model.set_version(3);
  model.set_state(v1::READY);
  model.mutable_config()->set_classes(10);
  model.add_attention_kinds(v1::MEAN_OVER_QUERIES);
  model.add_labels("width 00");
  return methods;
}

std::string Png(int width, int height) {
  return *EncodePng(
      {.width = width, .height = height, .channels = 1, .pixels = std::vector<uint8_t>(width * height, 200)});
}

class ClassifyCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("a.png", Png(20, 10));
    folder_.Write("b.png", Png(21, 10));
    folder_.Write("broken.png", "not a picture");
    command_.client.address = server_.address();
    command_.format = Format::kJson;
  }

  absl::StatusOr<int> RunCommand() { return RunClassify(command_, Page(), out_, errors_); }
  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    for (const auto& line : absl::StrSplit(out_.str(), '\n', absl::SkipEmpty())) {
      lines.push_back(nlohmann::json::parse(std::string(line)));
    }
    return lines;
  }

  const TemporaryFolder folder_;
  const SmallServer server_{OneModel()};
  ClassifyCommand command_;
  std::ostringstream out_, errors_;
};

TEST_F(ClassifyCommandTest, WritesALinePerPictureInOrder) {
  command_.paths = {folder_.Path("b.png"), folder_.Path("a.png")};
  command_.top_k = 2;
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u) << out_.str();
  EXPECT_EQ(lines[0]["image"], folder_.Path("b.png"));
  EXPECT_EQ(lines[0]["model"], "sizes") << "the only model is taken";
  EXPECT_EQ(lines[0]["predictions"][0]["label"], "width 21");
  EXPECT_EQ(lines[0]["predictions"].size(), 2u);
  EXPECT_EQ(lines[1]["predictions"][0]["label"], "width 20");
}

TEST_F(ClassifyCommandTest, OnePictureGoesAlone) {
  command_.paths = {folder_.Path("a.png")};
  command_.model = {.name = "sizes", .version = 3};
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_EQ(Lines()[0]["version"], 3);
}

TEST_F(ClassifyCommandTest, AFailureIsNamedAndTheOthersGoOn) {
  command_.paths = {folder_.path(), folder_.Path("missing.jpg"), folder_.Path("a.png")};
  EXPECT_EQ(RunCommand().value_or(-1), 2);
  EXPECT_EQ(Lines().size(), 3u) << "a, b and a again";
  EXPECT_EQ(errors_.str(), "vitrine: " + folder_.Path("broken.png") + ": this is no picture\n" +
                               "vitrine: " + folder_.Path("missing.jpg") + ": no such file or directory\n");
}

TEST_F(ClassifyCommandTest, DrawsOverlaysUnderDistinctNames) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png"), folder_.Path("a.png")};
  command_.attention_folder = folder_.Path("deep/out");
  command_.layers = {1};
  command_.heads = {0};
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

TEST_F(ClassifyCommandTest, PrintsATableForPeople) {
  command_.paths = {folder_.path()};
  command_.format = Format::kTable;
  EXPECT_EQ(RunCommand().value_or(-1), 1);
  EXPECT_THAT(out_.str(), testing::StartsWith("picture"));
  EXPECT_THAT(out_.str(), HasSubstr("width 20  50.0 %"));
  EXPECT_THAT(out_.str(), HasSubstr("\n2 pictures in "));
}

TEST_F(ClassifyCommandTest, NothingBeginsWithoutItsConditions) {
  command_.paths = {folder_.Path("a.png")};
  command_.model = {.name = "other", .version = std::nullopt};
  EXPECT_EQ(RunCommand().status().code(), absl::StatusCode::kNotFound);
  command_.model = {};
  command_.attention_folder = folder_.Path("a.png/out");
  EXPECT_THAT(RunCommand().status().ToString(), HasSubstr("cannot make the folder"));
  command_.kinds = {v1::ROLLOUT};
  command_.layers = {1};
  EXPECT_THAT(RunCommand().status().ToString(), HasSubstr("rollout"));
  EXPECT_EQ(out_.str(), "");
}

TEST(ClassifyCommand, SeveralModelsMustBeChosenFrom) {
  SmallServer::Methods methods = OneModel();
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

TEST(ParseModelChoice, TakesNameAndVersion) {
  EXPECT_EQ(ParseModelChoice("eit")->name, "eit");
  EXPECT_EQ(ParseModelChoice("eit")->version, std::nullopt);
  EXPECT_EQ(ParseModelChoice("eit@12")->version, 12);
  for (const char* wrong : {"", "@1", "eit@", "eit@0", "eit@-1", "eit@x", "eit@1@2"}) {
    EXPECT_FALSE(ParseModelChoice(wrong).ok()) << wrong;
  }
}

TEST(ParseResolution, TakesHeightAndWidth) {
  EXPECT_EQ(ParseResolution("48x32")->height(), 48);
  EXPECT_EQ(ParseResolution("48x32")->width(), 32);
  for (const char* wrong : {"", "48", "48x", "x32", "0x32", "48x32x3", "9000x1", "48X32", "a48x32"}) {
    EXPECT_FALSE(ParseResolution(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace vitrine
