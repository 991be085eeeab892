// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/repository/import/import.h"
#include "tests/models/repository/foreign_weights.h"

namespace vitrine {
namespace {

constexpr VitSizes kHeadless = {.width = 24, .depth = 2, .patch = 4, .cells = 12, .classes = 5};

// Returns a ViT of kHeadless.
v1::ModelConfig HeadlessVit(ForeignSource source) {
  const bool timm = source == ForeignSource::kTimm;
  v1::ModelConfig config = *ForeignConfig(source, timm ? "vit_tiny_patch16_224" : "vit-tiny-patch16-224", 5);
  config.mutable_preprocessing()->mutable_fixed()->set_height(12);
  config.mutable_preprocessing()->mutable_fixed()->set_width(16);
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_patch(4);
  vit.set_width(24);
  vit.set_depth(2);
  vit.set_heads(3);
  vit.set_mlp_width(96);
  vit.set_grid_rows(3);
  vit.set_grid_columns(4);
  return config;
}

// transformers' ViTModel has the names without "vit." and a pooler; timm's num_classes=0 has no head.
TEST(ImportWithoutHead, IsRecognized) {
  Tensors body;
  for (const auto& [name, tensor] : HuggingFaceVitWeights(kHeadless)) {
    if (name.starts_with("vit.")) body[name.substr(4)] = tensor;
  }
  body["pooler.dense.weight"] = HashedTensor({24, 24}, 1);
  body["pooler.dense.bias"] = HashedTensor({24}, 2);
  v1::ModelConfig config = HeadlessVit(ForeignSource::kHuggingFace);
  UnwrappedWeights weights;
  weights.tensors = Stored(body);
  EXPECT_TRUE(LacksHead(ForeignSource::kHuggingFace, config, weights));
  weights.outside = Stored({{"fc.weight", HashedTensor({5, 24}, 3)}, {"fc.bias", HashedTensor({5}, 4)}});
  EXPECT_FALSE(LacksHead(ForeignSource::kHuggingFace, config, weights));
  config.set_classes(0);
  const absl::StatusOr<TensorMap> renamed = RenameForeign(ForeignSource::kHuggingFace, config, Stored(body));
  EXPECT_TRUE(renamed.ok()) << renamed.status();

  Tensors timm = TimmVitWeights(kHeadless);
  weights = {};
  weights.tensors = Stored(timm);
  EXPECT_FALSE(LacksHead(ForeignSource::kTimm, HeadlessVit(ForeignSource::kTimm), weights));
  for (const char* part : {"head.weight", "head.bias"}) weights.tensors.erase(part);
  EXPECT_TRUE(LacksHead(ForeignSource::kTimm, HeadlessVit(ForeignSource::kTimm), weights));
}

}  // namespace
}  // namespace vitrine
