// SPDX-License-Identifier: Apache-2.0
#include "client/commands/embed_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <sstream>

#include "client/commands/output/feature_files.h"
#include "tests/client/lib/every_kind.h"
#include "tests/file_size_limit.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

class EmbedCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("a.png", GreyPng(20, 12));
    folder_.Write("b.png", GreyPng(24, 12));
    folder_.Write("c.png", GreyPng(24, 12));
    command_.client.address = server_.address();
  }

  absl::StatusOr<int> RunCommand() { return RunEmbed(command_, out_, errors_); }
  std::vector<nlohmann::json> Lines() const { return JsonLines(out_.str()); }

  const ScratchFolder folder_;
  const SmallServer server_{ServerWithEveryKind()};
  EmbedCommand command_;
  std::ostringstream out_, errors_;
};

TEST_F(EmbedCommandTest, WritesARowForEachImageAndTheirPaths) {
  command_.paths = {folder_.Path("b.png"), folder_.Path("a.png")};
  command_.output = folder_.Path("deep/features.npy");
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  const std::vector<float> values = {24, 24.25f, 24.5f, 24.75f, 20, 20.25f, 20.5f, 20.75f};
  EXPECT_EQ(folder_.Read("deep/features.npy"), NpyBytes({2, 4}, values));
  EXPECT_EQ(folder_.Read("deep/features.txt"), folder_.Path("b.png") + "\n" + folder_.Path("a.png") + "\n");
  EXPECT_THAT(out_.str(), testing::StartsWith("2 images in "));
  EXPECT_THAT(out_.str(), HasSubstr("deep/features.npy: float32, 2 x 4\n"));
  EXPECT_THAT(out_.str(), HasSubstr("deep/features.txt: the image of each row\n"));
}

TEST_F(EmbedCommandTest, FilesNameModelVersionAndWeights) {
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.stream = [](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      v1::ClassifyStreamResponse answer;
      answer.set_request_id(request.request_id());
      AnswerWithEveryKind(request, answer.mutable_response()).ok();
      answer.mutable_response()->mutable_served_by()->set_version(3);
      answer.mutable_response()->mutable_served_by()->set_weights_sha256("aaaabbbbccccdddd");
      stream->Write(answer);
    }
    return grpc::Status::OK;
  };
  const SmallServer server(methods);
  command_.client.address = server.address();
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png")};
  for (const char* output : {"x.npy", "each"}) {
    command_.output = folder_.Path(output);
    ASSERT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  }
  EXPECT_EQ(folder_.Read("x.model.json"),
            R"({"model":"sizes","version":3,"weights_sha256":"aaaabbbbccccdddd","kind":"class","width":4,)"
            R"("normalized":false,"pictures":2})"
            "\n");
  EXPECT_EQ(folder_.Read("each/model.json"), folder_.Read("x.model.json"));
  EXPECT_THAT(out_.str(), HasSubstr("x.model.json: sizes version 3, weights aaaabbbbcccc\n"));
}

TEST_F(EmbedCommandTest, TheNameOfAFolderIsRefusedForAnArray) {
  command_.paths = {folder_.Path("a.png")};
  command_.output = folder_.Path("folder.npy");
  std::filesystem::create_directory(command_.output);
  EXPECT_THAT(std::string(RunCommand().status().message()), HasSubstr("folder.npy is a folder"));
}

TEST_F(EmbedCommandTest, AFolderWithFilesOfAnEarlierRunIsRefusedAndAnArrayIsReplaced) {
  command_.paths = {folder_.Path("a.png")};
  command_.output = folder_.Path("each");
  ASSERT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  const std::string before = folder_.Read("each/a.npy");
  folder_.Write("other/a.png", GreyPng(24, 12));
  command_.paths = {folder_.Path("other/a.png")};
  const std::string rest = " already exists; remove the files of the earlier run, or give another folder as --out";
  EXPECT_EQ(RunCommand().status(), absl::FailedPreconditionError(folder_.Path("each/model.json") + rest));
  std::filesystem::remove(folder_.Path("each/model.json"));
  EXPECT_EQ(RunCommand().status(), absl::FailedPreconditionError(folder_.Path("each/a.npy") + rest));
  EXPECT_EQ(folder_.Read("each/a.npy"), before);

  for (const char* image : {"a.png", "other/a.png"}) {
    command_.paths = {folder_.Path(image)};
    command_.output = folder_.Path("x.npy");
    EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  }
  EXPECT_EQ(folder_.Read("x.txt"), folder_.Path("other/a.png") + "\n");
}

TEST_F(EmbedCommandTest, AFailedImageHasNoRow) {
  folder_.Write("broken.png", "not an image");
  command_.paths = {folder_.Path("a.png"), folder_.Path("broken.png"), folder_.Path("missing.png"),
                    folder_.Path("b.png")};
  command_.output = folder_.Path("features.npy");
  EXPECT_EQ(RunCommand().value_or(-1), 2);
  EXPECT_EQ(folder_.Read("features.txt"), folder_.Path("a.png") + "\n" + folder_.Path("b.png") + "\n");
  EXPECT_THAT(errors_.str(), HasSubstr("broken.png: this is no image"));
  EXPECT_THAT(out_.str(), HasSubstr("float32, 2 x 4"));
}

TEST_F(EmbedCommandTest, AFullDiskEndsTheRun) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png"), folder_.Path("c.png")};
  command_.output = folder_.Path("each");
  command_.format = Format::kJson;
  {
    const FileSizeLimit limit(100);
    EXPECT_EQ(RunCommand().value_or(-1), 3);
  }
  EXPECT_EQ(errors_.str(), "vitrine: " + folder_.Path("a.png") + ": cannot write " + folder_.Path("each/model.json") +
                               ": File too large; the run ends here, 2 more images have no result\n");
  EXPECT_EQ(Lines().size(), 3u) << "each image must have a line with its failure";
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path("each")));
}

// While a canary has a share of the traffic, either the stable version or the canary may answer a request without a
// version.
TEST_F(EmbedCommandTest, AllVectorsComeFromOneVersion) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png"), folder_.Path("c.png")};
  command_.output = folder_.Path("features.npy");
  std::atomic<bool> replaced = false;
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.stream = [&replaced](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    for (int place = 0; stream->Read(&request); ++place) {
      v1::ClassifyStreamResponse answer;
      answer.set_request_id(request.request_id());
      AnswerWithEveryKind(request, answer.mutable_response()).ok();
      v1::ServedBy& by = *answer.mutable_response()->mutable_served_by();
      if (!request.has_version()) by.set_version(3 + place % 2);
      by.set_weights_sha256(replaced && place > 0 ? "bbbb" : "aaaa");
      stream->Write(answer);
    }
    return grpc::Status::OK;
  };
  const SmallServer server(methods);
  command_.client.address = server.address();
  EXPECT_EQ(RunCommand().value_or(-1), 0) << errors_.str();
  EXPECT_THAT(out_.str(), HasSubstr("float32, 3 x 4"));
  replaced = true;  // simulates that the version's files are replaced in place
  EXPECT_EQ(RunCommand().value_or(-1), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("computed those before; name one with --model NAME@VERSION"));
}

TEST_F(EmbedCommandTest, PatchesKeepTheirGrid) {
  command_.kind = v1::PATCH_TOKENS;
  command_.paths = {folder_.Path("b.png"), folder_.Path("a.png"), folder_.Path("c.png")};
  command_.output = folder_.Path("features.npy");
  EXPECT_EQ(RunCommand().value_or(-1), 1) << "a.png has a different grid";
  EXPECT_THAT(errors_.str(), HasSubstr("a.png: the shape of its features is 3x5x4, that of the first image 3x6x4; give "
                                       "a folder as --out to get one file per image"));
  EXPECT_THAT(folder_.Read("features.npy"), HasSubstr("'shape': (2, 3, 6, 4), "));
  EXPECT_EQ(folder_.Read("features.txt"), folder_.Path("b.png") + "\n" + folder_.Path("c.png") + "\n");

  command_.output = folder_.Path("each");
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  EXPECT_THAT(folder_.Read("each/a.npy"), HasSubstr("'shape': (3, 5, 4), "));
  EXPECT_EQ(folder_.Read("each/a.npy").size(), 192u + 4 * 3 * 5 * 4);
  EXPECT_THAT(folder_.Read("each/b.npy"), HasSubstr("'shape': (3, 6, 4), "));
}

TEST_F(EmbedCommandTest, WithoutFilesTheLinesHaveTheValues) {
  command_.kind = v1::MEAN_TOKEN;
  command_.paths = {folder_.Path("a.png")};
  command_.format = Format::kJson;
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  ASSERT_EQ(Lines().size(), 1u);
  const nlohmann::json line = Lines()[0];
  EXPECT_EQ(line["image"], folder_.Path("a.png"));
  EXPECT_EQ(line["features"][0]["kind"], "mean");
  EXPECT_EQ(line["features"][0]["width"], 4);
  EXPECT_EQ(line["features"][0]["values"], nlohmann::json::parse("[20, 20.25, 20.5, 20.75]"));
  EXPECT_EQ(line["model"], "sizes");
}

TEST_F(EmbedCommandTest, WithFilesTheLinesNameFileAndRow) {
  command_.paths = {folder_.Path("a.png"), folder_.Path("b.png")};
  command_.format = Format::kJson;
  command_.output = folder_.Path("x.npy");
  EXPECT_EQ(RunCommand().value_or(-1), 0);
  const nlohmann::json feature = Lines().at(1)["features"][0];
  EXPECT_EQ(feature["file"], folder_.Path("x.npy"));
  EXPECT_EQ(feature["row"], 1);
  EXPECT_FALSE(feature.contains("values"));
}

TEST_F(EmbedCommandTest, AFeatureThatTheModelDoesNotHaveIsRefused) {
  command_.paths = {folder_.Path("a.png")};
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.models.mutable_versions(0)->clear_feature_kinds();
  methods.models.mutable_versions(0)->add_feature_kinds(v1::PATCH_TOKENS);
  const SmallServer server(methods);
  command_.client.address = server.address();
  command_.output = folder_.Path("x.npy");
  EXPECT_EQ(RunCommand().status().message(), "model \"sizes\" has no vector; it has: patches");
  command_.kind = v1::CLASS_TOKEN;
  EXPECT_EQ(RunCommand().status().message(), "model \"sizes\" has no class features; it has: patches");
}

TEST(CheckEmbedOutput, APathWithTheExtensionOfAnotherFormatIsRefused) {
  for (const char* output : {"x.csv", "deep/x.json", "x.NPY", "x.npz"}) {
    EXPECT_EQ(CheckEmbedOutput(output).code(), absl::StatusCode::kInvalidArgument) << output;
  }
  EXPECT_EQ(CheckEmbedOutput("x.csv").message(),
            "\"x.csv\": features are written as FILE.npy, or in a folder as a .npy file per image; no .csv files; "
            "--format json prints them as text");
  for (const char* output : {"x.npy", "folder", "x.csv/", "run-0.1", "."}) EXPECT_TRUE(CheckEmbedOutput(output).ok());
}

TEST_F(EmbedCommandTest, VectorsThatTheServerDidNotNormalizeAreRefused) {
  command_.paths = {folder_.Path("a.png")};
  command_.output = folder_.Path("x.npy");
  command_.normalize = true;
  EXPECT_EQ(RunCommand().value_or(-1), 1) << "an older server ignores `normalize`";
  EXPECT_THAT(errors_.str(), HasSubstr("older than --normalize"));
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.classify = [answer = methods.classify](const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                                                 auto* context) {
    const grpc::Status status = answer(request, response, context);
    response->mutable_features(0)->set_normalized(request.features(0).normalize());
    return status;
  };
  const SmallServer server(methods);
  command_.client.address = server.address();
  EXPECT_EQ(RunCommand().value_or(-1), 0);
}

TEST_F(EmbedCommandTest, AnAnswerWithoutFeaturesIsAnError) {
  SmallServer::Methods methods = ServerWithEveryKind();
  methods.classify = [](const auto&, auto*, auto*) { return grpc::Status::OK; };
  const SmallServer server(methods);
  command_.client.address = server.address();
  command_.paths = {folder_.Path("a.png")};
  command_.output = folder_.Path("x.npy");
  EXPECT_EQ(RunCommand().value_or(-1), 1);
  EXPECT_THAT(errors_.str(), HasSubstr("the server answered without features"));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("x.npy")));
}

}  // namespace
}  // namespace vitrine
