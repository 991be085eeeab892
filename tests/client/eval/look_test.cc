// SPDX-License-Identifier: Apache-2.0
// Tests an evaluation page for which some images, attention maps or distances are unavailable.
#include "client/eval/page/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "client/eval/distance.h"
#include "client/eval/page/page.h"
#include "common/charts/distance_plot.h"
#include "tests/client/eval/made_data.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Returns an evaluation in which every answer is wrong.
Evaluation MadeOwls() {
  Evaluation evaluation = MadeEvaluation({{0, {{2, 0.5f}}}, {1, {{2, 0.6f}}}, {0, {{2, 0.7f}}}, {1, {{2, 0.8f}}}});
  evaluation.model.add_attention_kinds(v1::MEAN_OVER_QUERIES);
  evaluation.model.add_attention_kinds(v1::DISTANCE);
  return evaluation;
}

std::vector<const Prediction*> All(const Evaluation& evaluation) {
  std::vector<const Prediction*> all;
  for (const Prediction& prediction : evaluation.predictions) all.push_back(&prediction);
  return all;
}

// The images of a constructed evaluation. Reading the image `damaged` fails.
class Damaged final : public MadeData {
 public:
  Damaged(const Evaluation& evaluation, int64_t damaged) : MadeData(evaluation), damaged_(damaged) {}
  absl::StatusOr<Image> image(int64_t index) const override {
    if (index == damaged_) return absl::NotFoundError("it is gone");
    return MadeData::image(index);
  }
  absl::StatusOr<std::string> encoded(int64_t index) const override {
    if (index == damaged_) return absl::NotFoundError("it is gone");
    return MadeData::encoded(index);
  }

 private:
  const int64_t damaged_;
};

// Returns an answer with an attention map of `rows` x `columns` cells of 4x4 pixels.
v1::ClassifyResponse MapOf(const std::vector<float>& values, int rows, int columns) {
  v1::ClassifyResponse answer;
  v1::AttentionMap& map = *answer.add_attention();
  map.set_encoding(v1::FLOAT32);
  map.set_rows(rows);
  map.set_columns(columns);
  map.set_values(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  map.mutable_covers()->set_width(12);
  map.mutable_covers()->set_height(8);
  v1::Grid& grid = *answer.mutable_grid();
  grid.set_rows(rows);
  grid.set_columns(columns);
  grid.set_input_height(4 * rows);
  grid.set_input_width(4 * columns);
  return answer;
}

// A server that returns the given answers one after the other, and its client.
struct Answering {
  explicit Answering(const std::vector<v1::ClassifyResponse>& answers)
      : server({.stream = [this, answers](StreamOfServer* stream, grpc::ServerContext*) {
          v1::ClassifyRequest request;
          while (stream->Read(&request)) {
            v1::ClassifyStreamResponse answer;
            answer.set_request_id(request.request_id());
            *answer.mutable_response() = answers[static_cast<size_t>(asked++) % answers.size()];
            stream->Write(answer);
          }
          return grpc::Status::OK;
        }}) {}

  std::atomic<int> asked = 0;
  SmallServer server;
  std::unique_ptr<Client> client = ConnectTo(server);
};

TEST(EvenlySpread, ChoosesTheMiddleOfEqualParts) {
  EXPECT_THAT(EvenlySpread({4, 7, 9}, 3), ElementsAre(4, 7, 9));
  EXPECT_THAT(EvenlySpread({4, 7, 9, 12}, 3), ElementsAre(4, 9, 12));
  EXPECT_THAT(EvenlySpread({4, 7, 9}, 1), ElementsAre(7));
  EXPECT_THAT(EvenlySpread({4}, 5), ElementsAre(4));
  EXPECT_THAT(EvenlySpread({}, 5), IsEmpty());
}

TEST(ResolutionOf, ParsesTheSetting) {
  EXPECT_EQ(ResolutionOf(""), std::nullopt);
  EXPECT_EQ(ResolutionOf("32x48")->height(), 32);
  EXPECT_EQ(ResolutionOf("32x48")->width(), 48);
  EXPECT_EQ(ResolutionOf("32")->width(), 32);
  for (const char* wrong : {"1x2x3", "x", "ax2", "2xa"}) EXPECT_EQ(ResolutionOf(wrong), std::nullopt) << wrong;
}

TEST(Look, ShowsAllImages) {
  const Evaluation evaluation = MadeOwls();
  const MadeData data(evaluation);
  const Looks looks = LookAt({.data = &data}, All(evaluation));
  EXPECT_EQ(looks.fault, "");
  EXPECT_EQ(looks.attention, "");
  EXPECT_THAT(looks.images, ElementsAre(SizeIs(1), SizeIs(1), SizeIs(1), SizeIs(1)));
  EXPECT_NE(looks.images[0][0].uri, looks.images[3][0].uri);
  EXPECT_EQ(LookAt({.data = &data, .model = &evaluation.model}, {}).fault, "")
      << "without mistakes no request is needed";
}

TEST(Look, ANameThatIsNotUtf8MatchesAnyImage) {
  Evaluation evaluation = MadeOwls();
  const MadeData data(evaluation);
  evaluation.predictions[1].name = "caf\xEF\xBF\xBD.png";
  EXPECT_EQ(LookAt({.data = &data}, All(evaluation)).fault, "");
  for (const int64_t outside : {int64_t{-1}, int64_t{4}}) {
    evaluation.predictions[1].index = outside;
    const Looks looks = LookAt({.data = &data}, All(evaluation));
    EXPECT_EQ(looks.fault, "The data set differs from the evaluated one.") << outside;
    EXPECT_THAT(looks.images, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty()));
  }
}

TEST(Look, OnlyAnUnreadableImageIsMissingAndItsErrorIsReported) {
  const Evaluation evaluation = MadeOwls();
  const Answering answering({MapOf({1, 2, 3, 4, 5, 6}, 2, 3)});
  for (const int64_t damaged : {0, 2, 3}) {
    const Damaged data(evaluation, damaged);
    const Looks looks =
        LookAt({.data = &data, .client = answering.client.get(), .model = &evaluation.model}, All(evaluation));
    EXPECT_EQ(looks.fault, "An image is missing: it is gone");
    EXPECT_EQ(looks.attention, "attention in the last layer, mean over queries and heads");
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(looks.images[static_cast<size_t>(i)].size(), i == damaged ? 0u : 2u) << i << " of " << damaged;
    }
  }
}

TEST(Look, AnAnswerWithoutAttentionIsReported) {
  const Evaluation evaluation = MadeOwls();
  const MadeData data(evaluation);
  const Answering answering({MapOf({1, 2, 3, 4, 5, 6}, 2, 3), {}});
  const Looks looks =
      LookAt({.data = &data, .client = answering.client.get(), .model = &evaluation.model}, All(evaluation));
  EXPECT_EQ(looks.fault, "Attention is missing: the server sent no attention");
  EXPECT_THAT(looks.images, ElementsAre(SizeIs(2), SizeIs(1), SizeIs(2), SizeIs(1)));
}

TEST(Look, ReportsProgressAndEndsWhenStopped) {
  const Evaluation evaluation = MadeOwls();
  const MadeData data(evaluation);
  const Answering answering({MapOf({1, 2, 3, 4, 5, 6}, 2, 3)});
  std::atomic<bool> stop = false;
  std::vector<int64_t> told;
  ImageSource source{.data = &data, .client = answering.client.get(), .model = &evaluation.model, .stop = &stop};
  source.progress = [&](const std::string& what, int64_t done, int64_t all) {
    EXPECT_EQ(what, "attention for the mistakes");
    EXPECT_EQ(all, 4);
    told.push_back(done);
  };
  EXPECT_EQ(LookAt(source, All(evaluation)).fault, "");
  EXPECT_THAT(told, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(answering.asked, 4);
  stop = true;
  EXPECT_EQ(LookAt(source, All(evaluation)).fault, "Attention is missing: the run was stopped");
  EXPECT_EQ(answering.asked, 4) << "no request may be sent after the stop";
}

absl::StatusOr<AttentionDistances> Measured(const std::vector<v1::ClassifyResponse>& answers,
                                            const Evaluation& evaluation = MadeOwls()) {
  const MadeData data(evaluation);
  const Answering answering(answers);
  return MeasureDistances({.data = &data, .client = answering.client.get(), .model = &evaluation.model}, {0, 1, 2, 3},
                          4);
}

TEST(Distance, IsWrittenAsJson) {
  Evaluation evaluation = MadeOwls();
  evaluation.model.mutable_config()->mutable_xvit();
  const auto distances = Measured({MapOf({1, 2, 3, 4, 5, 6}, 2, 3)}, evaluation);
  ASSERT_TRUE(distances.ok()) << distances.status();
  EXPECT_DOUBLE_EQ(distances->uniform.value_or(0), UniformDistance(2, 3, 4, 4));
  AttentionDistances round = *distances;
  round.uniform = 7.5;
  round.window.reset();
  const auto expected = nlohmann::ordered_json::parse(R"({"model": "m", "version": 3, "pictures": 4, "failed": 0,
      "layers": 2, "heads": 3, "weighted_by": "magnitude",
      "pixels": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
      "pixels_standard_deviation": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
      "patches": [[0.25, 0.5, 0.75], [1.0, 1.25, 1.5]], "excluded": [[0, 0, 0], [0, 0, 0]],
      "head_mean_pixels": [2.0, 5.0], "head_deviation_pixels": [0.816496580927726, 0.816496580927726],
      "diversity_pixels": 0.816496580927726, "uniform_pixels": 7.5, "window_pixels": null})");
  EXPECT_EQ(DistancesAsJson(round), expected.dump(1) + "\n");
}

TEST(Distance, AHeadThatAttendsToNoCellIsCountedAndDoesNotChangeTheOthers) {
  const auto all = Measured({MapOf({1, 2, 3, 4, 5, NAN}, 2, 3)});
  ASSERT_TRUE(all.ok()) << all.status();
  const nlohmann::json found = nlohmann::json::parse(DistancesAsJson(*all));
  EXPECT_EQ(found["pixels"][1].dump(), "[4.0,5.0,null]");
  EXPECT_EQ(found["excluded"].dump(), "[[0,0,0],[0,0,4]]");
  EXPECT_EQ(found["head_mean_pixels"].dump(), "[2.0,4.5]");
  EXPECT_EQ(found["diversity_pixels"], 0.5) << "the deviation of 4 and 5";
  EXPECT_TRUE(DrawDistances(*all).ok());
  const auto some = Measured({MapOf({1, 2, 3, 4, 5, NAN}, 2, 3), MapOf({1, 2, 3, 4, 5, 6}, 2, 3)});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_THAT(some->pixels, ElementsAre(1, 2, 3, 4, 5, 6)) << "the mean of the images in which the head has a distance";
  EXPECT_THAT(some->deviation, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(some->excluded[5], 2);
  const Evaluation evaluation = MadeOwls();
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  EvaluationPage page{.evaluation = evaluation, .metrics = metrics};
  page.distances = &*all;
  const std::string text = RenderPage(page);
  EXPECT_THAT(text, HasSubstr("Heads that attend to no cell of the grid in some images: 1."));
  EXPECT_THAT(text, HasSubstr(">5.00</td>"));
  EXPECT_THAT(text, Not(HasSubstr("nan<")));
}

TEST(Distance, ImagesWithDifferentGridsHaveNoReferenceValues) {
  v1::ClassifyResponse large = MapOf({1, 2, 3, 4, 5, 6}, 2, 3), none = large;
  large.mutable_grid()->set_input_height(16);
  const auto differing = Measured({MapOf({1, 2, 3, 4, 5, 6}, 2, 3), large});
  ASSERT_TRUE(differing.ok()) << differing.status();
  EXPECT_FALSE(differing->uniform.has_value());
  EXPECT_FALSE(differing->window.has_value());
  EXPECT_FALSE(differing->magnitudes);
  none.clear_grid();
  const auto gridless = Measured({none});
  ASSERT_TRUE(gridless.ok()) << gridless.status();
  EXPECT_FALSE(gridless->uniform.has_value());
  EXPECT_THAT(gridless->patches, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(gridless->pixels, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Distance, InvalidAnswersAreCountedAndTheFirstErrorIsReported) {
  const v1::ClassifyResponse fine = MapOf({1, 2, 3, 4, 5, 6}, 2, 3);
  for (const v1::ClassifyResponse& other : {MapOf({1, 2, 3, 4}, 2, 2), MapOf({1, 2, 3}, 1, 3)}) {
    const auto distances = Measured({fine, other, {}, fine});
    ASSERT_TRUE(distances.ok()) << distances.status();
    EXPECT_EQ(distances->images, 2);
    EXPECT_EQ(distances->failed, 2);
    EXPECT_EQ(distances->fault, "the number of layers or heads changed between images");
  }
  EXPECT_EQ(Measured({{}}).status(),
            absl::UnavailableError("no image has an attention distance: the server sent no distances"));
}

}  // namespace
}  // namespace vitrine
