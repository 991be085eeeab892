// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SERVED_H_
#define VITRINE_TESTS_SERVER_SERVED_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "models/model_description.h"
#include "server/registry/version/loaded_model.h"

namespace vitrine {

// Returns a version for a config in text format. It has the fields that the registry sets, but no weights.
inline ModelHandle Served(const std::string& name, const std::string& config_text) {
  auto served = std::make_shared<LoadedModel>();
  served->id = {name, 3};
  v1::ModelConfig& config = *served->manifest.mutable_config();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config_text, &config)) << config_text;
  absl::StatusOr<ModelDescription> model = ModelDescription::Make(config);
  EXPECT_TRUE(model.ok()) << model.status();
  for (int i = 0; i < config.classes(); ++i) served->labels.push_back("class-" + std::to_string(i));
  served->device = "cpu";
  served->precision = "fp32";
  served->weights_sha256 = "feed";
  served->attention = model->attention();
  served->features = model->features();
  served->description = std::make_shared<const ModelDescription>(*std::move(model));
  return served;
}

// Returns an EIT with native resolution (RGB, 4 to 64 cells of 4 x 4 pixels) and 7 classes. Its attention kinds include
// CLASS_TOKEN_ROW.
inline ModelHandle ServedEit() {
  return Served("mixed",
                "classes: 7 preprocessing { channels: 3 mean: [0.5, 0.5, 0.5] std: [0.25, 0.25, 0.25] "
                "interpolation: BICUBIC native { cell: 4 min_tokens: 4 max_tokens: 64 } } "
                "eit { pool: 4 width: 24 depth: 2 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 }");
}

// Returns a KV transformer for grey images, cropped centrally to 28 x 28 pixels, with 10 classes. Its grid has 4 x 4
// cells, and its attention kinds include SCORES and WEIGHTS.
inline ModelHandle ServedKv() {
  return Served("fixed",
                "classes: 10 preprocessing { channels: 1 mean: 0.5 std: 0.25 interpolation: BILINEAR "
                "fixed { height: 28 width: 28 fit: CENTER_CROP } } "
                "kv { patch: 7 width: 16 depth: 2 heads: 2 mlp_width: 32 attention: KV grid_rows: 4 grid_columns: 4 }");
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_SERVED_H_
