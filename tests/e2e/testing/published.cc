// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/published.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>

#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/model.h"
#include "server/registry/golden_input.h"
#include "tests/common/imaging/pictures.h"
#include "tests/models/reference/pictures.h"

namespace vitrine::testing {

v1::ModelConfig MixedConfig() {
  return Config(
      "classes: 7 preprocessing { channels: 3 mean: [0.5, 0.5, 0.5] std: [0.25, 0.25, 0.25] interpolation: BICUBIC "
      "native { cell: 4 min_tokens: 4 max_tokens: 64 } } "
      "eit { pool: 4 width: 24 depth: 2 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 }");
}

v1::ModelConfig FixedConfig() {
  return Config(
      "classes: 10 preprocessing { channels: 1 mean: 0.5 std: 0.25 interpolation: BILINEAR "
      "fixed { height: 28 width: 28 fit: STRETCH } } "
      "kv { patch: 7 width: 16 depth: 2 heads: 2 mlp_width: 32 attention: KV_POS position_channels: 6 "
      "grid_rows: 4 grid_columns: 4 }");
}

v1::ModelConfig NullModelConfig() {
  return Config(
      "classes: 2 preprocessing { channels: 3 mean: [0, 0, 0] std: [1, 1, 1] interpolation: BILINEAR "
      "fixed { height: 32 width: 32 fit: STRETCH } } null {}");
}

v1::ModelConfig SlowConfig() {
  return Config(
      "classes: 3 preprocessing { channels: 3 mean: [0.5, 0.5, 0.5] std: [0.25, 0.25, 0.25] interpolation: BILINEAR "
      "native { cell: 4 min_tokens: 4 max_tokens: 1600 } } "
      "eit { pool: 4 width: 192 depth: 3 heads: 6 mlp_width: 768 grid_rows: 4 grid_columns: 4 }");
}

VersionId PublishModel(const std::filesystem::path& root, const std::string& model, const v1::ModelConfig& config,
                       uint64_t seed) {
  const std::unique_ptr<Model> built = PublishedModel(config, seed);
  Draft draft;
  *draft.manifest.mutable_config() = config;
  draft.manifest.set_parameters(built->CountParameters());
  v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("fp32");
  tolerance.set_tolerance(1e-4f);
  draft.weights = SaveWeights(*built, Dtype::kF32);
  draft.golden.tensors["picture.0"] = StoredBytes(NoiseJpeg(40, 32, 99));
  const absl::Status recorded = RecordGolden(*built, ForwardOf(*built), DecodeGoldenInput, draft.golden);
  EXPECT_TRUE(recorded.ok()) << recorded;
  for (int i = 0; i < config.classes(); ++i) draft.labels.push_back("class-" + std::to_string(i));
  const absl::StatusOr<VersionId> published = Publish(root, model, draft);
  EXPECT_TRUE(published.ok()) << published.status();
  return published.value_or(VersionId{});
}

std::unique_ptr<Model> PublishedModel(const v1::ModelConfig& config, uint64_t seed) {
  absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(config, seed);
  EXPECT_TRUE(model.ok()) << model.status();
  HashWeights(**model, seed);
  return *std::move(model);
}

std::vector<float> LogitsAlone(const Model& model, const std::string& picture) {
  const absl::StatusOr<FloatArray> input = DecodeGoldenInput(picture, model.config().preprocessing());
  EXPECT_TRUE(input.ok()) << input.status();
  absl::StatusOr<FloatArray> logits = ForwardOf(model)({&*input, 1});
  EXPECT_TRUE(logits.ok()) << logits.status();
  return std::move(logits->values);
}

v1::ModelConfig VerySlowConfig() {
  v1::ModelConfig config = SlowConfig();
  config.mutable_eit()->set_depth(12);
  return config;
}

std::string NoiseJpeg(int width, int height, uint32_t seed) {
  Image image = SmoothImage(width, height, 3);
  const Image noise = NoiseImage(width, height, 3, seed);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = (image.pixels[i] + noise.pixels[i]) / 2;
  return JpegFile(image);
}

std::string SlowPicture(uint32_t seed) {
  return NoiseJpeg(160, 160, seed);
}

}  // namespace vitrine::testing
