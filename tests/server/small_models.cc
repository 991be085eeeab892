// SPDX-License-Identifier: Apache-2.0
#include "tests/server/small_models.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "common/imaging/encode/encode_png.h"
#include "common/imaging/header.h"
#include "models/engine/cpu_backend.h"
#include "tests/server/hashed_version.h"

namespace vitrine {
namespace {

v1::ModelConfig Parse(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
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

std::shared_ptr<LoadedModel> MakeLoaded(const std::string& name, int64_t version, const v1::ModelConfig& config,
                                        const std::function<void(std::vector<float>&)>& change) {
  WeightedModel model = HashedModel(config, 7);
  if (change != nullptr) {
    for (StoredTensor& weight : model.weights) {
      FloatArray floats = FloatsOf(weight);
      change(floats.values);
      weight = StoredOf(std::move(floats));
    }
  }
  const ModelDescription& description = model.description;
  auto backend = MakeCpuBackend(description.program(), PointersTo(model), cpu::SupportedPaths().back());
  EXPECT_TRUE(backend.ok()) << backend.status();
  auto loaded = std::make_shared<LoadedModel>();
  loaded->id = {name, version};
  *loaded->manifest.mutable_config() = config;
  loaded->device = "cpu";
  loaded->precision = "fp32";
  for (int i = 0; i < config.classes(); ++i) loaded->labels.push_back("class " + std::to_string(i));
  loaded->attention = description.attention();
  loaded->features = description.features();
  loaded->description = std::make_shared<const ModelDescription>(description);
  loaded->backend = *std::move(backend);
  return loaded;
}

VersionId PublishVersion(const std::filesystem::path& root, const std::string& name, const v1::ModelConfig& config,
                         uint64_t seed) {
  return PublishHashed(root, name, config, seed, {NoisePng(24, 32, 1), NoisePng(16, 16, 2)});
}

std::string NoisePng(int height, int width, int seed) {
  Image image{width, height, 3, std::vector<uint8_t>(size_t{3} * width * height)};
  std::mt19937 random(seed);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random());
  return EncodePng(image).value();
}

InferenceRequest ImageRequest(ModelHandle model, std::string image, Answer& answer) {
  InferenceRequest request;
  const ImageHeader header = ReadHeader(image).value();
  const v1::Preprocessing& preprocessing = model->description->config().preprocessing();
  request.geometry = PlanGeometry(preprocessing, Size{header.height, header.width}).value();
  request.grid = model->description->GridFor(request.geometry.input.height, request.geometry.input.width).value();
  request.tokens = request.grid.cells() + model->description->prefix_tokens();
  request.request.set_model(model->id.model);
  request.request.mutable_image();
  request.owner = std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(image), {}});
  request.input = request.owner->bytes;
  request.top_k = 1;
  request.model = std::move(model);
  request.done = [&answer](absl::StatusOr<v1::ClassifyResponse> result) {
    ++answer.calls;
    answer.result = std::move(result);
  };
  return request;
}

}  // namespace vitrine
