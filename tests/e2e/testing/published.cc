// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/published.h"

#include "models/engine/logits.h"
#include "server/registry/golden_input.h"
#include "tests/common/imaging/images.h"
#include "tests/models/config_text.h"

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
  return PublishHashed(root, model, config, seed, {NoiseJpeg(40, 32, 99)});
}

std::vector<float> LogitsAlone(const WeightedModel& model, const std::string& image) {
  const v1::ModelConfig& config = model.description.config();
  const FloatArray input = DecodeGoldenInput(image, config.preprocessing()).value();
  return LogitsOf(*PortableBackend(model), config.classes(), {&input, 1}).value().values;
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

std::string SlowImage(uint32_t seed) {
  return NoiseJpeg(160, 160, seed);
}

}  // namespace vitrine::testing
