// SPDX-License-Identifier: Apache-2.0
#include "client/eval/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "client/eval/page/page_sections.h"
#include "tests/client/eval/made_data.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/client/lib/small_server.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Times(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++times;
  return times;
}

// Returns an evaluation in which three of five answers are right. The third image is the most confident mistake.
Evaluation MadeFive() {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.9f}, {1, 0.05f}}},
                                          {1, {{0, 0.6f}, {1, 0.3f}}},
                                          {2, {{1, 0.98f}, {0, 0.01f}}},
                                          {1, {{1, 0.7f}}},
                                          {2, {{2, 0.5f}}}});
  evaluation.model.add_attention_kinds(v1::ROLLOUT);
  evaluation.model.add_attention_kinds(v1::CLASS_TOKEN_ROW);
  evaluation.model.add_attention_kinds(v1::DISTANCE);
  return evaluation;
}

std::string PageOf(const Evaluation& evaluation) {
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  return RenderPage({.evaluation = evaluation, .metrics = metrics});
}

// A server that answers every request with an attention map or distances. It stores the requests.
struct AttentionServer {
  std::mutex mutex;
  std::vector<v1::ClassifyRequest> asked;
  SmallServer server;

  AttentionServer() : server(Methods()) {}
  SmallServer::Methods Methods() {
    SmallServer::Methods methods;
    methods.stream = [this](StreamOfServer* stream, grpc::ServerContext*) {
      v1::ClassifyRequest request;
      while (stream->Read(&request)) {
        const std::lock_guard lock(mutex);
        stream->Write(Answer(request));
        asked.push_back(request);
      }
      return grpc::Status::OK;
    };
    return methods;
  }
  v1::ClassifyStreamResponse Answer(const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer;
    answer.set_request_id(request.request_id());
    v1::AttentionMap& map = *answer.mutable_response()->add_attention();
    map.set_kind(request.attention(0).kind());
    map.set_encoding(v1::FLOAT32);
    // The four values are an attention map of 2x2 cells, or the distances of two layers with two heads. In every second
    // answer, the first value is 4 higher.
    const float shift = asked.size() % 2 == 0 ? 0.0f : 4.0f;
    const float values[] = {1 + shift, 2, 3, 4};
    map.set_rows(2);
    map.set_columns(2);
    map.set_values(std::string(reinterpret_cast<const char*>(values), sizeof(values)));
    if (map.kind() != v1::DISTANCE) {
      map.mutable_covers()->set_width(12);
      map.mutable_covers()->set_height(8);
    }
    v1::Grid& grid = *answer.mutable_response()->mutable_grid();
    grid.set_rows(2);
    grid.set_columns(3);
    grid.set_input_height(8);
    grid.set_input_width(12);
    return answer;
  }
};

TEST(Page, NamesTwoHundredImagesThatWereNotEvaluated) {
  Evaluation many = MadeEvaluation(std::vector<MadeImage>(205, {0, {}}));
  for (Prediction& prediction : many.predictions) prediction.outcome = Outcome::kUnreadable;
  const std::string nothing = PageOf(many);
  EXPECT_THAT(nothing, HasSubstr("And 5 more"));
  EXPECT_THAT(nothing, HasSubstr("cat/199.png"));
  EXPECT_THAT(nothing, Not(HasSubstr("cat/200.png")));
  EXPECT_EQ(Times(nothing, "nan"), Times(nothing, "Provenance"));
}

TEST(Page, EscapesAllTextAndLoadsNoExternalFile) {
  const std::string hostile = "<script>alert(1)</script>";
  Evaluation evaluation = MadeFive();
  evaluation.model.set_model("m" + hostile);
  evaluation.model.set_labels(0, hostile);
  evaluation.data_labels[0] = hostile;
  evaluation.data = hostile;
  evaluation.settings.split = hostile;
  evaluation.settings.resolution = hostile;
  evaluation.sessions[0].server = hostile;
  v1::Provenance& provenance = *evaluation.model.mutable_provenance();
  for (std::string* text : {provenance.mutable_recipe(), provenance.mutable_data(), provenance.mutable_hardware(),
                            provenance.mutable_source_revision(), provenance.add_metrics()->mutable_name(),
                            provenance.mutable_metrics(0)->mutable_split()}) {
    *text = hostile;
  }
  for (Prediction& prediction : evaluation.predictions) {
    prediction.name = absl::StrCat(hostile, "\"", prediction.index, "\x1b[31m.png");
    prediction.served_by = hostile;
  }
  evaluation.predictions[0].outcome = Outcome::kRefused;
  evaluation.predictions[0].reason = hostile;
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  EvaluationPage input{.evaluation = evaluation, .metrics = metrics};
  input.mistakes = SurestMistakes(evaluation, 10);
  input.looks.fault = hostile;
  input.distances_fault = hostile;
  input.folder = hostile;
  const std::string page = RenderPage(input);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_GT(Times(page, "&lt;script&gt;"), 10u);
  EXPECT_EQ(Times(page, "src=\""), Times(page, "src=\"data:")) << "the page must not load external files";
  EXPECT_EQ(Times(page, "http"), Times(page, "http-equiv") + Times(page, "http://www.w3.org/2000/svg"));
}

TEST(Page, MistakesAreSortedByConfidence) {
  const Evaluation evaluation = MadeFive();
  const auto mistakes = SurestMistakes(evaluation, 10);
  ASSERT_EQ(mistakes.size(), 2u);
  EXPECT_EQ(mistakes[0]->index, 2);
  EXPECT_EQ(mistakes[1]->index, 1);
  EXPECT_EQ(SurestMistakes(evaluation, 1).size(), 1u);
  EXPECT_THAT(AnswerInWords(evaluation.model, *mistakes[0]),
              ElementsAre("dog, 98.0 % sure", "label: owl, not among the best 2", "owl/2.png"));
}

TEST(Look, RequestsTheBestKindOfAttentionFromTheEvaluatedVersion) {
  const Evaluation evaluation = MadeFive();
  const MadeData data(evaluation);
  AttentionServer attention;
  const auto client = ConnectTo(attention.server);
  const auto mistakes = SurestMistakes(evaluation, 10);
  const Looks looks =
      LookAt({.data = &data, .client = client.get(), .model = &evaluation.model, .resolution = "32x48"}, mistakes);
  EXPECT_EQ(looks.fault, "");
  EXPECT_THAT(looks.attention, HasSubstr("class token"));
  ASSERT_EQ(looks.images.size(), 2u);
  for (const auto& images : looks.images) {
    ASSERT_EQ(images.size(), 2u) << "each mistake must have the image and its overlay";
    EXPECT_TRUE(images[0].pixels);
    EXPECT_THAT(images[0].uri, ::testing::StartsWith("data:image/png;base64,"));
    EXPECT_THAT(images[1].uri, ::testing::StartsWith("data:image/"));
  }
  const std::lock_guard lock(attention.mutex);
  ASSERT_EQ(attention.asked.size(), 2u);
  EXPECT_EQ(attention.asked[0].model(), "m");
  EXPECT_EQ(attention.asked[0].version(), 3);
  EXPECT_EQ(attention.asked[0].attention(0).kind(), v1::CLASS_TOKEN_ROW);
  EXPECT_EQ(attention.asked[0].resolution().height(), 32);
  EXPECT_EQ(attention.asked[0].resolution().width(), 48);
  EXPECT_TRUE(attention.asked[0].omit_predictions());
  EXPECT_EQ(attention.asked[0].image(), *data.encoded(2));
}

TEST(Look, NamesMissingImagesAndMaps) {
  Evaluation evaluation = MadeFive();
  const MadeData data(evaluation);
  const auto mistakes = SurestMistakes(evaluation, 10);
  EXPECT_THAT(LookAt({.model = &evaluation.model}, mistakes).fault, HasSubstr("data set was not found"));
  const Looks without_server = LookAt({.data = &data, .model = &evaluation.model}, mistakes);
  EXPECT_THAT(without_server.fault, HasSubstr("No server"));
  EXPECT_EQ(without_server.images[0].size(), 1u) << "the image must be shown without an overlay";
  {
    AttentionServer attention;
    const auto client = ConnectTo(attention.server, absl::Seconds(2));
    attention.server.Stop();
    const Looks lost = LookAt({.data = &data, .client = client.get(), .model = &evaluation.model}, mistakes);
    EXPECT_THAT(lost.fault, HasSubstr("Attention is missing"));
    EXPECT_EQ(lost.images[0].size(), 1u);
  }
  evaluation.model.clear_attention_kinds();
  EXPECT_THAT(LookAt({.data = &data, .model = &evaluation.model}, mistakes).fault, HasSubstr("no attention"));
  evaluation.predictions[2].name = "another.png";
  const Looks other = LookAt({.data = &data, .model = &evaluation.model}, mistakes);
  EXPECT_THAT(other.fault, HasSubstr("differs from the evaluated one"));
  EXPECT_TRUE(other.images[0].empty()) << "an image of another data set must not be shown";
}

TEST(Distance, IsTheMeanOverTheImages) {
  const Evaluation evaluation = MadeFive();
  const MadeData data(evaluation);
  AttentionServer attention;
  const auto client = ConnectTo(attention.server);
  const ImageSource source{.data = &data, .client = client.get(), .model = &evaluation.model};
  const auto distances = MeasureDistances(source, {0, 1, 2, 3, 4}, 4);
  ASSERT_TRUE(distances.ok()) << distances.status();
  EXPECT_EQ(distances->images, 4);
  EXPECT_EQ(distances->layers, 2);
  EXPECT_EQ(distances->heads, 2);
  EXPECT_THAT(distances->pixels, ElementsAre(3, 2, 3, 4)) << "the values of the images are alternately 1 and 5";
  EXPECT_THAT(distances->deviation, ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(distances->patches, ElementsAre(0.75, 0.5, 0.75, 1)) << "the cells have 4x4 pixels";
  EXPECT_NEAR(*distances->window, (2 * 4 + 2 * 4 + 4 * 4 * 1.4142135623730951) / 9, 1e-12);
  EXPECT_THAT(DistancesAsJson(*distances), HasSubstr("\"pictures\": 4"));
  const auto plot = DrawDistances(*distances);
  ASSERT_TRUE(plot.ok());
  EXPECT_THAT(*plot, HasSubstr("data:image/svg+xml"));
  Evaluation without = evaluation;
  without.model.clear_attention_kinds();
  const ImageSource none{.data = &data, .client = client.get(), .model = &without.model};
  EXPECT_EQ(MeasureDistances(none, {0}, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(WriteReport, WritesThePageAndTheDistances) {
  const ScratchFolder folder;
  const Evaluation evaluation = MadeFive();
  const MadeData data(evaluation);
  AttentionServer attention;
  const auto client = ConnectTo(attention.server);
  const ImageSource source{.data = &data, .client = client.get()};
  EXPECT_EQ(WriteReport(folder.path().string(), evaluation, source, {.attention_distance = 2}).value(), "");
  const std::string page = folder.Read("report.html");
  EXPECT_EQ(Times(page, "<figure>"), 4u) << "the page must have two mistakes with two images each";
  EXPECT_THAT(page, HasSubstr("Attention distance"));
  EXPECT_THAT(
      folder.Read("figures/confidence.svg"),
      ::testing::AllOf(::testing::StartsWith("<svg xmlns"), ::testing::EndsWith("</svg>\n"), Not(HasSubstr("var("))));
  EXPECT_THAT(folder.Read("attention_distance.json"), HasSubstr("\"pictures\": 2"));
  EXPECT_EQ(WriteReport(folder.path().string(), evaluation, {}, {.attention_distance = 2}).value(),
            "no server or no data set was available");
  EXPECT_THAT(folder.Read("report.html"), HasSubstr("Not measured: no server or no data set"));
}

TEST(WriteReport, DistancesAreMeasuredOnlyIfRequested) {
  const ScratchFolder folder;
  const Evaluation evaluation = MadeFive();
  ASSERT_TRUE(WriteReport(folder.path().string(), evaluation, {}, {.attention_distance = 0}).ok());
  EXPECT_THAT(folder.Read("report.html"), Not(HasSubstr("Not measured")));
}

TEST(WriteReport, AStopEndsTheRequests) {
  const ScratchFolder folder;
  Evaluation evaluation = MadeEvaluation(std::vector<MadeImage>(300, {0, {{0, 0.9f}}}));
  evaluation.model.add_attention_kinds(v1::DISTANCE);
  const MadeData data(evaluation);
  AttentionServer attention;
  const auto client = ConnectTo(attention.server);
  std::atomic<bool> stop = false;
  ImageSource source{.data = &data, .client = client.get(), .stop = &stop};
  int64_t told = 0;
  source.progress = [&](const std::string& what, int64_t done, int64_t all) {
    EXPECT_EQ(what, "attention distances");
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(all, 300);
    stop = true;
  };
  const absl::Status status =
      WriteReport(folder.path().string(), evaluation, source, {.attention_distance = 300}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_GT(told, 0);
  EXPECT_THAT(folder.Read("report.html"), HasSubstr("Not measured: the run was stopped after"));
  const std::lock_guard lock(attention.mutex);
  EXPECT_LT(attention.asked.size(), 300u);
}

TEST(WriteReport, IfThePageCannotBeWrittenTheOldPageStays) {
  const ScratchFolder folder;
  const Evaluation evaluation = MadeFive();
  folder.Write("report.html", "old");
  std::filesystem::create_directories(folder.path() / "report.html.new");
  EXPECT_FALSE(WriteReport(folder.path().string(), evaluation, {}).ok());
  EXPECT_EQ(folder.Read("report.html"), "old");
  const ScratchFolder other;
  std::filesystem::create_directories(other.path() / "report.html");
  EXPECT_FALSE(WriteReport(other.path().string(), evaluation, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(other.path() / "report.html.new"));
}

TEST(CommandOf, HasTheFlagsOfTheRunWithoutTheToken) {
  Evaluation evaluation = MadeFive();
  EvalCommand command;
  command.client.address = "gpu-box:8500";
  command.client.token = "top-secret-words";
  command.client.token_file = "token";
  command.client.tls.emplace().ca_file = "my ca.pem";
  command.client.keepalive = absl::Seconds(30);
  command.priority = v1::HIGH;
  command.label_map = "map.tsv";
  const std::string text = CommandOf(evaluation, "out", &command, {.mistakes = 3, .attention_distance = 64});
  EXPECT_EQ(
      text,
      "vitrine eval --server gpu-box:8500 --model m@3 --data imagefolder:pets --label-map map.tsv --priority high "
      "--keepalive 30s --tls --tls-ca 'my ca.pem' --token-file token --mistakes 3 --attention-distance 64 --out "
      "out-again");
  EXPECT_THAT(CommandOf(evaluation, "out"), Not(HasSubstr("--label-map")));
  evaluation.settings.label_map = {0, 2, 1};
  EXPECT_THAT(CommandOf(evaluation, "out"), HasSubstr("--label-map FILE"))
      << "without its label map the command would give other results";
}

}  // namespace
}  // namespace vitrine
