// SPDX-License-Identifier: Apache-2.0
#include "tests/client/lib/every_kind.h"

#include <bit>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "common/imaging/decode.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/geometry.h"

namespace vitrine {
namespace {

constexpr int kLayers = 2, kHeads = 3, kWidth = 4, kPatch = 4;

std::vector<int> Rising(int count, int first) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

v1::AttentionMap MapOf(const v1::AttentionRequest& requested, int layer, int head, const v1::Grid& grid) {
  v1::AttentionMap map;
  map.set_kind(requested.kind());
  map.set_layer(layer);
  map.set_head(head);
  map.set_encoding(requested.encoding());
  const int cells = grid.rows() * grid.columns();
  if (requested.kind() == v1::SCORES || requested.kind() == v1::WEIGHTS) {
    map.set_rows(cells + 1);
    map.set_columns(cells + 1);
  } else if (requested.kind() == v1::CROSS_COVARIANCE) {
    map.set_rows(kWidth);
    map.set_columns(kWidth);
  } else {
    map.set_rows(grid.rows());
    map.set_columns(grid.columns());
    *map.mutable_covers() = grid.covers();
  }
  const int count = map.rows() * map.columns();
  map.set_diverging(requested.kind() == v1::WEIGHTS);
  map.set_values(HalfBytes(Rising(count, map.diverging() ? -count / 2 : 1)));
  return map;
}

void AddAttention(const v1::AttentionRequest& requested, v1::ClassifyResponse* response) {
  const v1::Grid& grid = response->grid();
  if (requested.kind() == v1::ROLLOUT) {
    *response->add_attention() = MapOf(requested, -1, -1, grid);
    return;
  }
  std::vector<int> layers(requested.layers().begin(), requested.layers().end()),
      heads(requested.heads().begin(), requested.heads().end());
  if (requested.kind() == v1::DISTANCE) {
    v1::AttentionMap& map = *response->add_attention();
    map.set_kind(v1::DISTANCE);
    map.set_layer(-1);
    map.set_head(-1);
    map.set_rows(static_cast<int>(layers.size()));
    map.set_columns(static_cast<int>(heads.size()));
    map.set_encoding(v1::FLOAT32);
    std::vector<float> values;
    for (int i = 0; i < map.rows() * map.columns(); ++i) values.push_back(0.5f * static_cast<float>(i + 1));
    map.set_values(FloatBytes(values));
    return;
  }
  if (layers.empty()) layers = {kLayers - 1};
  if (heads.empty()) heads = {-1};
  for (const int layer : layers) {
    for (const int head : heads) *response->add_attention() = MapOf(requested, layer, head, grid);
  }
}

void AddFeature(const v1::FeatureRequest& requested, int image_width, v1::ClassifyResponse* response) {
  v1::Feature& feature = *response->add_features();
  const bool patches = requested.kind() == v1::PATCH_TOKENS;
  feature.set_kind(requested.kind());
  feature.set_rows(patches ? response->grid().rows() : 1);
  feature.set_columns(patches ? response->grid().columns() : 1);
  feature.set_width(kWidth);
  feature.set_encoding(requested.encoding());
  std::vector<float> values(static_cast<size_t>(feature.rows() * feature.columns() * kWidth));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(image_width) + 0.25f * static_cast<float>(i);
  feature.set_values(FloatBytes(values));
}

}  // namespace

std::string HalfBytes(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) {
    unsigned half = value < 0 ? 0x8000 : 0;
    unsigned magnitude = static_cast<unsigned>(std::abs(value));
    if (magnitude > 0) {
      const unsigned exponent = static_cast<unsigned>(std::bit_width(magnitude)) - 1;
      half |= (exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 1023);
    }
    bytes += static_cast<char>(half & 255);
    bytes += static_cast<char>(half >> 8);
  }
  return bytes;
}

std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(std::bit_cast<uint32_t>(value) >> shift & 255);
  }
  return bytes;
}

std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (const auto& line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(std::string(line)));
  }
  return lines;
}

std::string GreyPng(int width, int height) {
  return *EncodePng({.width = width,
                     .height = height,
                     .channels = 1,
                     .pixels = std::vector<uint8_t>(static_cast<size_t>(width * height), 200)});
}

v1::ModelVersion ModelWithEveryKind() {
  v1::ModelVersion model;
  model.set_model("sizes");
  model.set_version(3);
  model.set_state(v1::READY);
  model.set_layers(kLayers);
  model.set_heads(kHeads);
  model.mutable_config()->set_classes(10);
  model.mutable_config()->mutable_vit()->set_patch(kPatch);
  v1::Preprocessing& input = *model.mutable_config()->mutable_preprocessing();
  input.set_interpolation(v1::BILINEAR);
  input.add_mean(0);
  input.add_std(1);
  input.mutable_native()->set_cell(kPatch);
  input.mutable_native()->set_min_tokens(1);
  input.mutable_native()->set_max_tokens(64);
  for (const v1::AttentionKind kind : {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::SCORES, v1::WEIGHTS,
                                       v1::CLASS_ATTENTION, v1::CROSS_COVARIANCE, v1::QUERY_ROW, v1::DISTANCE}) {
    model.add_attention_kinds(kind);
    v1::AttentionOffer& offer = *model.add_attention();
    offer.set_kind(kind);
    offer.set_layers(kLayers);
    offer.set_heads(kHeads);
  }
  for (const v1::FeatureKind kind : {v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}) model.add_feature_kinds(kind);
  model.set_feature_width(kWidth);
  model.add_labels("width 00");
  return model;
}

grpc::Status AnswerWithEveryKind(const v1::ClassifyRequest& request, v1::ClassifyResponse* response) {
  const auto image = Decode(request.image());
  if (!image.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, "this is no image"};
  response->mutable_served_by()->set_model(request.model());
  response->mutable_served_by()->set_version(request.has_version() ? request.version() : 3);
  const auto geometry =
      PlanGeometry(ModelWithEveryKind().config().preprocessing(), {.height = image->height, .width = image->width});
  if (!geometry.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, std::string(geometry.status().message())};
  v1::Grid& grid = *response->mutable_grid();
  grid.set_rows(geometry->input.height / kPatch);
  grid.set_columns(geometry->input.width / kPatch);
  grid.set_input_height(geometry->input.height);
  grid.set_input_width(geometry->input.width);
  grid.mutable_covers()->set_width(static_cast<float>(image->width));
  grid.mutable_covers()->set_height(static_cast<float>(image->height));
  for (int i = 0; !request.omit_predictions() && (i < request.top_k() || i == 0); ++i) {
    v1::Prediction& prediction = *response->add_predictions();
    prediction.set_label("width " + std::to_string(image->width + i));
    prediction.set_probability(0.5f);
  }
  for (const v1::AttentionRequest& requested : request.attention()) AddAttention(requested, response);
  for (const v1::FeatureRequest& requested : request.features()) AddFeature(requested, image->width, response);
  return grpc::Status::OK;
}

SmallServer::Methods ServerWithEveryKind() {
  SmallServer::Methods methods;
  methods.classify = [](const auto& request, auto* response, auto*) { return AnswerWithEveryKind(request, response); };
  methods.stream = [](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      v1::ClassifyStreamResponse answer;
      answer.set_request_id(request.request_id());
      const grpc::Status status = AnswerWithEveryKind(request, answer.mutable_response());
      stream->Write(status.ok() ? answer : StreamErrorTo(request, status.error_code(), status.error_message()));
    }
    return grpc::Status::OK;
  };
  *methods.models.add_versions() = ModelWithEveryKind();
  return methods;
}

}  // namespace vitrine
