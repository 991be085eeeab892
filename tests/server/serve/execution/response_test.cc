// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "common/imaging/decode.h"
#include "server/serve/request/plan_request.h"
#include "tests/common/imaging/images.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

InferenceRequest Plan(const ModelHandle& model, int width, int height, v1::AttentionEncoding encoding, int top_k = 3) {
  v1::ClassifyRequest request;
  request.set_image(JpegFile(SmoothImage(width, height, 3)));
  request.set_top_k(top_k);
  request.set_request_id("mine");
  if (!model->attention.offers.empty()) {
    v1::AttentionRequest& requested = *request.add_attention();
    requested.set_kind(model->attention.offers[0].kind);
    requested.set_encoding(encoding);
  }
  absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(std::move(request)), model);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Returns the logits and one map for each attention request, as an executor would.
InferenceOutput Output(const InferenceRequest& request) {
  InferenceOutput output;
  for (int i = 0; i < request.model->manifest.config().classes(); ++i) output.logits.push_back((i * 5) % 7 - 2.5f);
  for (const v1::AttentionRequest& requested : request.attention) {
    AttentionMap map{.kind = requested.kind(), .layer = 1, .head = -1};
    map.rows = request.grid.rows;
    map.columns = request.grid.columns;
    for (int i = 0; i < request.grid.cells(); ++i) map.values.push_back(0.01f * static_cast<float>(i));
    output.attention.push_back({map});
  }
  output.timings.set_queue(0.5f);
  output.batch.set_images(4);
  output.image =
      std::make_shared<Image>(SmoothImage(request.geometry.original.width, request.geometry.original.height, 3));
  return output;
}

TEST(MakeResponse, PredictionsAreSortedAndHaveLabels) {
  const InferenceRequest request = Plan(ServedEit(), 24, 16, v1::FLOAT16, 7);
  const absl::StatusOr<v1::ClassifyResponse> response = MakeResponse(request, Output(request));
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->predictions_size(), 7);
  EXPECT_EQ(response->predictions(0).index(), 4);  // class 4 has the largest logit, because (4 * 5) mod 7 = 6
  EXPECT_EQ(response->predictions(0).label(), "class-4");
  float sum = 0;
  for (const v1::Prediction& prediction : response->predictions()) sum += prediction.probability();
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(response->served_by().version(), 3);
  EXPECT_EQ(response->served_by().weights_sha256(), "feed");
  EXPECT_EQ(response->request_id(), "mine");
  EXPECT_EQ(response->batch().images(), 4);
  EXPECT_EQ(response->timings().queue(), 0.5f);
}

// The largest logits are 3.5, 2.5 and 1.5.
TEST(MakeResponse, ACalibrationChangesProbabilitiesAndMarksUnsureAnswers) {
  InferenceRequest request = Plan(ServedEit(), 24, 16, v1::FLOAT16, 7);
  const v1::ClassifyResponse plain = *MakeResponse(request, Output(request));
  EXPECT_FALSE(plain.unsure()) << "without a calibration, no answer is unsure";
  auto calibrated = std::make_shared<LoadedModel>(*request.model);
  v1::Calibration& calibration = *calibrated->manifest.mutable_calibration();
  calibration.set_temperature(2);
  request.model = calibrated;
  const v1::ClassifyResponse tempered = *MakeResponse(request, Output(request));
  ASSERT_EQ(tempered.predictions_size(), 7);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(tempered.predictions(i).logit(), plain.predictions(i).logit());
    EXPECT_EQ(tempered.predictions(i).index(), plain.predictions(i).index());
  }
  const auto odds = [](const v1::ClassifyResponse& r) {
    return r.predictions(0).probability() / r.predictions(6).probability();
  };
  EXPECT_NEAR(odds(tempered), std::sqrt(odds(plain)), 1e-3 * odds(plain));
  EXPECT_FALSE(tempered.unsure());
  const float first = tempered.predictions(0).probability();
  calibration.set_unsure_below(first);
  EXPECT_FALSE(MakeResponse(request, Output(request))->unsure()) << "an answer at the threshold is sure";
  calibration.set_unsure_below(std::nextafter(first, 1.0F));
  EXPECT_TRUE(MakeResponse(request, Output(request))->unsure());
  request.top_k = 0;
  EXPECT_FALSE(MakeResponse(request, Output(request))->unsure()) << "an answer without predictions is not unsure";
}

TEST(MakeResponse, FeaturesAreNormalizedOnRequest) {
  InferenceRequest request = Plan(ServedEit(), 24, 16, v1::FLOAT16, 7);
  request.features.emplace_back().set_kind(v1::PATCH_TOKENS);
  request.features.back().set_encoding(v1::FEATURE_FLOAT32);
  InferenceOutput output = Output(request);
  output.features.push_back(
      {.kind = v1::PATCH_TOKENS, .rows = 1, .columns = 3, .width = 2, .values = {3, -4, 0, 0, 1e30F, 0}});
  const auto values = [&] {
    const v1::ClassifyResponse response = *MakeResponse(request, output);
    EXPECT_EQ(response.features(0).normalized(), request.features[0].normalize());
    std::vector<float> read(response.features(0).values().size() / sizeof(float));
    std::memcpy(read.data(), response.features(0).values().data(), response.features(0).values().size());
    return read;
  };
  EXPECT_THAT(values(), ElementsAre(3, -4, 0, 0, 1e30F, 0));
  request.features[0].set_normalize(true);
  EXPECT_THAT(values(), ElementsAre(0.6F, -0.8F, 0, 0, 1, 0)) << "a vector of zeros does not change";
}

TEST(MakeResponse, AnAnswerAboveTheClientsMessageLimitIsRefused) {
  InferenceRequest request = Plan(ServedEit(), 24, 16, v1::OVERLAY_PNG, 7);
  const InferenceOutput output = Output(request);
  const auto bytes = static_cast<int64_t>(MakeResponse(request, output)->ByteSizeLong());
  request.most_message_bytes = bytes;
  EXPECT_TRUE(MakeResponse(request, output).ok());
  request.most_message_bytes = bytes - 1;
  const absl::Status refusal = MakeResponse(request, output).status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("grpc.max_receive_message_length"));
}

TEST(MakeResponse, TheGridOfACroppedImageCoversItsMiddle) {
  // Plans an image of 56 x 28 pixels, which is cropped to its central square.
  const InferenceRequest request = Plan(ServedKv(), 56, 28, v1::FLOAT16);
  InferenceOutput output = Output(request);
  output.attention.clear();
  const absl::StatusOr<v1::ClassifyResponse> response = MakeResponse(request, output);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::Rectangle& covers = response->grid().covers();
  EXPECT_FLOAT_EQ(covers.left(), 14);
  EXPECT_FLOAT_EQ(covers.top(), 0);
  EXPECT_FLOAT_EQ(covers.width(), 28);
  EXPECT_FLOAT_EQ(covers.height(), 28);
  EXPECT_EQ(response->grid().image_width(), 56);
}

TEST(MakeResponse, MapsHaveTheirPositionInTheImage) {
  const InferenceRequest request = Plan(ServedEit(), 24, 16, v1::UINT8);
  const absl::StatusOr<v1::ClassifyResponse> response = MakeResponse(request, Output(request));
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::AttentionMap& map = response->attention(0);
  EXPECT_EQ(map.rows(), 4);
  EXPECT_EQ(map.columns(), 6);
  EXPECT_EQ(map.values().size(), 24u);
  EXPECT_FLOAT_EQ(map.covers().width(), 24);
}

TEST(MakeResponse, AnOverlayIsAPngAndIsBoundedLikeValues) {
  InferenceRequest request = Plan(ServedEit(), 24, 16, v1::OVERLAY_PNG);
  const absl::StatusOr<v1::ClassifyResponse> response = MakeResponse(request, Output(request));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->attention(0).values().substr(1, 3), "PNG");
  EXPECT_EQ(response->attention(0).encoding(), v1::OVERLAY_PNG);
  request.request.set_max_attention_bytes(100);
  const absl::StatusOr<v1::ClassifyResponse> refused = MakeResponse(request, Output(request));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("max_attention_bytes is 100"));
}

TEST(MakeResponse, AnOverlayHasALegendAndDivergingColours) {
  const InferenceRequest request = Plan(ServedEit(), 24, 16, v1::OVERLAY_PNG);
  InferenceOutput output = Output(request);
  output.attention[0][0].diverging = true;
  output.attention[0][0].values[0] = -0.2f;
  const absl::StatusOr<v1::ClassifyResponse> response = MakeResponse(request, output);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE(response->attention(0).diverging());
  const absl::StatusOr<Image> image = Decode(response->attention(0).values());
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->width, 256);
  EXPECT_GE(image->height, 171 + 8 + 2 * 16 + 40) << "the image needs room for the text and the colour bar below";
  int blue = 0;
  for (size_t i = 0; i < image->pixels.size(); i += 3) blue += image->pixels[i + 2] > image->pixels[i] + 60;
  EXPECT_GT(blue, 100);
}

// Tests overlays that would exceed the limit. Compressing one overlay takes an executor about 0.2 s.
TEST(MakeResponse, OverlaysAboveTheLimitAreNotCompressed) {
  InferenceRequest request = Plan(ServedEit(), 24, 16, v1::OVERLAY_PNG);
  InferenceOutput output = Output(request);
  output.image = std::make_shared<Image>(NoiseImage(1024, 1024, 3));
  request.geometry.original = {.height = 1024, .width = 1024};
  output.attention[0].resize(8, output.attention[0][0]);
  request.request.set_max_attention_bytes(4 << 20);
  const absl::Status refused = MakeResponse(request, output).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("8 overlays would take about"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("max_attention_bytes is 4194304"));
}

}  // namespace
}  // namespace vitrine
