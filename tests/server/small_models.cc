// SPDX-License-Identifier: Apache-2.0
#include "tests/server/small_models.h"

#include <ATen/ops/empty.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "imaging/header.h"
#include "reference/model.h"
#include "report/png.h"
#include "repository/checkpoint.h"
#include "server/request/picture_input.h"

namespace vitrine {
namespace {

v1::ModelConfig Parse(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

at::Tensor Bytes(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

v1::ModelConfig SmallNativeConfig() {
  return Parse(R"(
      preprocessing {
        channels: 3 mean: 0.5 mean: 0.5 mean: 0.5 std: 0.25 std: 0.25 std: 0.25 interpolation: BILINEAR
        native { cell: 4 min_tokens: 4 max_tokens: 64 }
      }
      classes: 5
      eit { width: 16 depth: 2 heads: 2 mlp_width: 32 pool: 4 grid_rows: 6 grid_columns: 6 })");
}

v1::ModelConfig NullConfig() {
  return Parse(R"(
      preprocessing {
        channels: 3 mean: 0.5 mean: 0.5 mean: 0.5 std: 0.25 std: 0.25 std: 0.25 interpolation: BILINEAR
        fixed { height: 32 width: 32 fit: STRETCH }
      }
      classes: 3
      null {})");
}

std::shared_ptr<LoadedModel> MakeLoaded(const std::string& name, int64_t version, const v1::ModelConfig& config) {
  auto model = MakeModel(config, 7);
  EXPECT_TRUE(model.ok()) << model.status();
  auto loaded = std::make_shared<LoadedModel>();
  loaded->id = {name, version};
  *loaded->manifest.mutable_config() = config;
  loaded->device = "cpu";
  loaded->precision = "fp32";
  for (int i = 0; i < config.classes(); ++i) loaded->labels.push_back("class " + std::to_string(i));
  loaded->attention = (*model)->attention();
  loaded->features = (*model)->features();
  loaded->model = *std::move(model);
  return loaded;
}

VersionId PublishVersion(const std::filesystem::path& root, const std::string& name, const v1::ModelConfig& config,
                         uint64_t seed) {
  const auto model = MakeModel(config, seed);
  EXPECT_TRUE(model.ok()) << model.status();
  Draft draft;
  *draft.manifest.mutable_config() = config;
  draft.manifest.set_parameters((*model)->CountParameters());
  v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("fp32");
  tolerance.set_tolerance(1e-4);
  draft.weights = SaveWeights(**model, at::kFloat);
  draft.golden.tensors["picture.0"] = Bytes(NoisePng(24, 32, 1));
  draft.golden.tensors["picture.1"] = Bytes(NoisePng(16, 16, 2));
  const absl::Status recorded = RecordGolden(**model, EncodedPictureToInput, draft.golden);
  EXPECT_TRUE(recorded.ok()) << recorded;
  for (int i = 0; i < config.classes(); ++i) draft.labels.push_back("class " + std::to_string(i));
  const auto published = Publish(root, name, draft);
  EXPECT_TRUE(published.ok()) << published.status();
  return published.value_or(VersionId{});
}

std::string NoisePng(int height, int width, int seed) {
  Image image{width, height, 3, std::vector<uint8_t>(size_t{3} * width * height)};
  std::mt19937 random(seed);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random());
  return EncodePng(image).value();
}

InferenceRequest PictureRequest(ModelHandle model, std::string picture, Answer& answer) {
  InferenceRequest request;
  const ImageHeader header = ReadHeader(picture).value();
  const v1::Preprocessing& preprocessing = model->model->config().preprocessing();
  request.geometry = PlanGeometry(preprocessing, Size{header.height, header.width}).value();
  request.grid = model->model->GridFor(request.geometry.input.height, request.geometry.input.width).value();
  request.tokens = request.grid.cells() + model->model->prefix_tokens();
  request.request.set_model(model->id.model);
  request.request.set_image(std::move(picture));
  request.top_k = 1;
  request.model = std::move(model);
  request.done = [&answer](absl::StatusOr<v1::ClassifyResponse> result) {
    ++answer.calls;
    answer.result = std::move(result);
  };
  return request;
}

}  // namespace vitrine
