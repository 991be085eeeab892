// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/plan_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "models/model_description.h"
#include "server/serve/execution/attention_encoding.h"
#include "tests/common/imaging/images.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

v1::ClassifyRequest RequestOf(int width, int height) {
  v1::ClassifyRequest request;
  request.set_image(JpegFile(SmoothImage(width, height, 3)));
  return request;
}

v1::ClassifyRequest Tensor(int height, int width, int channels, bool normalized) {
  v1::ClassifyRequest request;
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_FLOAT32);
  tensor.set_height(height);
  tensor.set_width(width);
  tensor.set_channels(channels);
  tensor.set_normalized(normalized);
  tensor.set_data(std::string(static_cast<size_t>(height) * width * channels * 4, '\0'));
  return request;
}

void ExpectRefused(const v1::ClassifyRequest& request, const ModelHandle& model, absl::StatusCode code,
                   const std::string& part) {
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), model);
  EXPECT_EQ(plan.status().code(), code) << plan.status();
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(part));
}

TEST(PlanRequest, TokensFollowFromTheHeader) {
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(RequestOf(24, 16)), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->grid, (Grid{4, 6}));
  EXPECT_EQ(plan->tokens, 24 + plan->model->description->prefix_tokens());
  EXPECT_EQ(plan->geometry.original, (Size{16, 24}));
  EXPECT_EQ(plan->top_k, 5) << "5 predictions are the default";
}

TEST(PlanRequest, TopKDefaultsToAllClassesIfThereAreFew) {
  const ModelHandle model = Served("few",
                                   "classes: 3 preprocessing { channels: 1 mean: 0.5 std: 0.25 interpolation: BILINEAR "
                                   "fixed { height: 8 width: 8 fit: STRETCH } } null {}");
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(RequestOf(9, 9)), model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->top_k, 3);
}

TEST(PlanRequest, TheGridFollowsTheOrientationOfTheFile) {
  v1::ClassifyRequest request;
  request.set_image(JpegFile(SmoothImage(24, 16, 3), {.exif = ExifBlock(6)}));  // rotated by 90 degrees
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->grid, (Grid{6, 4}));
}

TEST(PlanRequest, ARequestedResolutionReplacesTheImagesSize) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  request.mutable_resolution()->set_height(8);
  request.mutable_resolution()->set_width(32);
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->grid, (Grid{2, 8}));
  ExpectRefused(request, ServedKv(), absl::StatusCode::kInvalidArgument, "28 x 28");
  request.mutable_resolution()->set_height(800);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "64");
}

TEST(PlanRequest, ANormalizedTensorMustHaveTheModelsShape) {
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(Tensor(16, 24, 3, true)), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->grid, (Grid{4, 6}));
  ExpectRefused(Tensor(17, 24, 3, true), ServedEit(), absl::StatusCode::kInvalidArgument, "17 x 24");
  ExpectRefused(Tensor(16, 24, 1, true), ServedEit(), absl::StatusCode::kInvalidArgument, "1 channels");
  ExpectRefused(Tensor(32, 28, 1, true), ServedKv(), absl::StatusCode::kInvalidArgument, "28 x 28");
  v1::ClassifyRequest request = Tensor(16, 24, 3, true);
  request.mutable_resolution()->set_height(8);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "normalized");
}

// Uses a model that scales an image to 31 pixels and crops it to 28, as imported 224-pixel models do. A tensor of 28 x
// 28 is already cropped.
TEST(PlanRequest, ANormalizedTensorIsNotCroppedAgain) {
  const ModelHandle model =
      Served("cropped",
             "classes: 10 preprocessing { channels: 1 mean: 0.5 std: 0.25 interpolation: BILINEAR "
             "fixed { height: 28 width: 28 fit: CENTER_CROP crop: 0.9 } } "
             "kv { patch: 7 width: 16 depth: 2 heads: 2 mlp_width: 32 attention: KV grid_rows: 4 grid_columns: 4 }");
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(Tensor(28, 28, 1, true)), model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->geometry.input, (Size{28, 28}));
  EXPECT_EQ(plan->geometry.OriginalX(0), 0) << "the grid must cover the whole tensor";
  EXPECT_EQ(plan->geometry.OriginalY(28), 28);
  EXPECT_EQ(plan->grid, (Grid{4, 4}));
  ExpectRefused(Tensor(31, 31, 1, true), model, absl::StatusCode::kInvalidArgument, "the nearest size is 28 x 28");
  const absl::StatusOr<InferenceRequest> image = PlanRequest(ReceivedOf(RequestOf(28, 28)), model);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->geometry.scaled, (Size{31, 31}));
}

TEST(PlanRequest, PixelsOfATensorAreResizedLikeAnImage) {
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(Tensor(100, 90, 3, false)), ServedKv());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->geometry.input, (Size{28, 28}));
}

TEST(PlanRequest, ATensorOfBytesCannotBeNormalized) {
  v1::ClassifyRequest request = Tensor(16, 24, 3, true);
  request.mutable_tensor()->set_data_type(v1::RawTensor::DATA_UINT8);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "DATA_FLOAT32");
}

TEST(PlanRequest, AttentionDefaultsToTheLastLayerInFloat16) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->attention.size(), 1u);
  ASSERT_EQ(plan->attention[0].layers_size(), 1);
  EXPECT_EQ(plan->attention[0].layers(0), 1) << "layer 1 is the last of two";
  EXPECT_EQ(plan->attention[0].encoding(), v1::FLOAT16);
}

TEST(PlanRequest, TheSizeOfAttentionIsLimitedBeforeCompute) {
  v1::ClassifyRequest request = RequestOf(28, 28);
  v1::AttentionRequest& requested = *request.add_attention();
  requested.set_kind(v1::WEIGHTS);
  requested.set_encoding(v1::FLOAT32);
  const ModelHandle model = ServedKv();
  const int64_t n = 16 + model->description->prefix_tokens();
  request.set_max_attention_bytes(4 * n * n);
  EXPECT_TRUE(PlanRequest(ReceivedOf(request), model).ok());
  request.set_max_attention_bytes(4 * n * n - 1);
  ExpectRefused(request, model, absl::StatusCode::kResourceExhausted, std::to_string(4 * n * n) + " bytes");
  request.set_max_attention_bytes(kMaxAttentionBytes + 1);
  ExpectRefused(request, model, absl::StatusCode::kInvalidArgument, "max_attention_bytes");
}

TEST(PlanRequest, FeaturesCountTowardsTheLimitOfAttention) {
  const ModelHandle model = ServedKv();
  v1::ClassifyRequest request = RequestOf(28, 28);
  request.add_features()->set_kind(v1::PATCH_TOKENS);
  const int64_t bytes = 4 * 16 * model->description->features().width;
  request.set_max_attention_bytes(bytes);
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->features.size(), 1u);
  EXPECT_EQ(plan->features[0].encoding(), v1::FEATURE_FLOAT32);
  request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
  ExpectRefused(request, model, absl::StatusCode::kResourceExhausted, std::to_string(bytes + 32) + " bytes");
  for (int i = 0; i < 5; ++i) request.add_features()->set_kind(v1::CLASS_TOKEN);
  ExpectRefused(request, model, absl::StatusCode::kInvalidArgument, "6 feature entries; at most 5");
}

TEST(PlanRequest, PredictionsCanBeOmitted) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  request.set_omit_predictions(true);
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), ServedEit());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->top_k, 0);
  request.set_top_k(3);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "omit_predictions");
}

TEST(PlanRequest, WithoutClassesOnlyFeaturesAndAttentionAreAnswered) {
  const ModelHandle model =
      Served("tower",
             "preprocessing { channels: 3 mean: 0.5 mean: 0.5 mean: 0.5 std: 0.25 std: 0.25 std: 0.25 interpolation: "
             "BILINEAR fixed { height: 8 width: 8 fit: STRETCH } } vit { patch: 4 width: 8 depth: 1 heads: 2 "
             "mlp_width: 8 grid_rows: 2 grid_columns: 2 }");
  v1::ClassifyRequest request = RequestOf(8, 8);
  ExpectRefused(request, model, absl::StatusCode::kFailedPrecondition,
                "has no classes; request its vector with `embed`");
  request.add_features()->set_kind(v1::CLASS_TOKEN);
  const absl::StatusOr<InferenceRequest> plan = PlanRequest(ReceivedOf(request), model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->top_k, 0);
  request.set_top_k(1);
  ExpectRefused(request, model, absl::StatusCode::kFailedPrecondition, "has no classes");
}

TEST(PlanRequest, ErrorsNameTheFieldThatIsOutOfRange) {
  using R = v1::ClassifyRequest;
  const std::pair<std::function<void(R&)>, const char*> kWrong[] = {
      {[](R& r) { r.set_top_k(0); }, "top_k is 0, but model \"mixed\" (version 3) has 7 classes; ask for 1 to 7"},
      {[](R& r) { r.set_top_k(8); }, "top_k is 8"},
      {[](R& r) { r.set_priority(static_cast<v1::Priority>(7)); }, "priority is 7"},
      {[](R& r) { r.set_time_limit(0); }, "time_limit is 0"},
      {[](R& r) { r.set_time_limit(-1); }, "time_limit is -1"},
      {[](R& r) { r.set_time_limit(std::numeric_limits<float>::quiet_NaN()); }, "time_limit is nan"},
      {[](R& r) { r.add_attention()->set_kind(v1::SCORES); }, "SCORES"},
      {[](R& r) { r.clear_input(); }, "no input"},
      {[](R& r) { r = Tensor(0, 8, 3, false); }, "0 x 8 pixels; each side must be 1 to 8192"},
      {[](R& r) { r = Tensor(8, 8193, 3, false); }, "8 x 8193"},
      {[](R& r) { r = Tensor(8, 8, 2, false); }, "2 channels"},
      {[](R& r) { (r = Tensor(8, 8, 3, false)).mutable_tensor()->clear_data_type(); }, "data_type"},
      {[](R& r) { (r = Tensor(8, 8, 3, false)).mutable_tensor()->mutable_data()->pop_back(); }, "767 bytes"},
  };
  for (const auto& [spoil, why] : kWrong) {
    R request = RequestOf(24, 16);
    spoil(request);
    ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, why);
  }
}

TEST(PlanRequest, TooManyAttentionEntriesAreRefused) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  for (int i = 0; i < 17; ++i) request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "17 attention entries");
}

TEST(PlanRequest, LimitsIncludeTheirLastValue) {
  const auto taken = [](const v1::ClassifyRequest& request) {
    return PlanRequest(ReceivedOf(request), ServedEit()).ok();
  };
  v1::ClassifyRequest maps = RequestOf(24, 16);
  for (int i = 0; i < 16; ++i) maps.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
  EXPECT_TRUE(taken(maps));

  v1::ClassifyRequest features = RequestOf(24, 16);
  for (int i = 0; i < 5; ++i) features.add_features()->set_kind(v1::CLASS_TOKEN);
  EXPECT_TRUE(taken(features)) << "a feature of each kind";

  v1::ClassifyRequest overlays = RequestOf(24, 16);
  for (int i = 0; i < 8; ++i) {
    v1::AttentionRequest& requested = *overlays.add_attention();
    requested.set_kind(v1::CLASS_TOKEN_ROW);
    requested.set_encoding(v1::OVERLAY_PNG);
  }
  EXPECT_TRUE(taken(overlays));
  overlays.mutable_attention(7)->add_layers(0);
  overlays.mutable_attention(7)->add_layers(1);
  ExpectRefused(overlays, ServedEit(), absl::StatusCode::kInvalidArgument, "9 overlays");

  v1::ClassifyRequest named = RequestOf(24, 16);
  named.set_request_id(std::string(kMaxRequestIdBytes, 'a'));
  EXPECT_TRUE(taken(named));
  named.set_request_id(std::string(kMaxRequestIdBytes + 1, 'a'));
  EXPECT_FALSE(taken(named));

  v1::ClassifyRequest bytes = RequestOf(24, 16);
  for (const int64_t most : {int64_t{1}, kMaxAttentionBytes}) {
    bytes.set_max_attention_bytes(most);
    EXPECT_TRUE(taken(bytes)) << most;
  }
  bytes.set_max_attention_bytes(0);
  EXPECT_FALSE(taken(bytes));
}

TEST(PlanRequest, TheAnswerReservesItsSizeOrItsLimit) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->answer_bytes, 0);
  request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);  // FLOAT16 values, 4 x 6 cells
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->answer_bytes, 2 * 24);
  request.add_features()->set_kind(v1::CLASS_TOKEN);
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->answer_bytes, 2 * 24 + 4 * 24);
  request.mutable_features(0)->set_encoding(v1::FEATURE_FLOAT16);
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->answer_bytes, 2 * 24 + 2 * 24);
  request.mutable_attention(0)->set_encoding(v1::OVERLAY_PNG);
  request.set_max_attention_bytes(12345);
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->answer_bytes, 12345)
      << "the size of an overlay is not known in advance";
}

TEST(PlanRequest, TheNumberOfOverlayPixelsIsKnownBeforeCompute) {
  v1::ClassifyRequest request = RequestOf(24, 16);
  v1::AttentionRequest& requested = *request.add_attention();
  requested.set_kind(v1::CLASS_TOKEN_ROW);
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->overlay_pixels, 0)
      << "maps as values have no overlay pixels";
  requested.set_encoding(v1::OVERLAY_PNG);
  const InferenceRequest one = *PlanRequest(ReceivedOf(request), ServedEit());
  const int64_t longer = 256, shorter = 171;  // the longer side becomes 256, the shorter 256 * 16 / 24
  EXPECT_EQ(one.overlay_pixels, longer * shorter);
  *request.add_attention() = requested;
  EXPECT_EQ(PlanRequest(ReceivedOf(request), ServedEit())->overlay_pixels, 2 * longer * shorter);
}

TEST(PlanRequest, AnOverlayNeedsAnImage) {
  v1::ClassifyRequest request = Tensor(16, 24, 3, true);
  v1::AttentionRequest& requested = *request.add_attention();
  requested.set_kind(v1::CLASS_TOKEN_ROW);
  requested.set_encoding(v1::OVERLAY_PNG);
  ExpectRefused(request, ServedEit(), absl::StatusCode::kInvalidArgument, "no image");
}

}  // namespace
}  // namespace vitrine
