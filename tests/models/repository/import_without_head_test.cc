// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/repository/foreign/import.h"
#include "models/repository/foreign/import_names.h"
#include "tests/models/repository/foreign_weights.h"

namespace vitrine {
namespace {

// A ViTModel of transformers has a pooler, and its tensor names do not begin with "vit.". A timm model made with
// num_classes=0 has no head.
TEST(ImportWithoutHead, IsRecognized) {
  Tensors body;
  for (const auto& [name, tensor] : HuggingFaceVitWeights(kSmallVit)) {
    if (name.starts_with("vit.")) body[name.substr(4)] = tensor;
  }
  body["pooler.dense.weight"] = HashedTensor({24, 24}, 1);
  body["pooler.dense.bias"] = HashedTensor({24}, 2);
  v1::ModelConfig config = SmallVit(ForeignSource::kHuggingFace);
  UnwrappedWeights weights;
  weights.tensors = Stored(body);
  EXPECT_TRUE(LacksHead(ForeignSource::kHuggingFace, config, weights));
  weights.outside = Stored({{"fc.weight", HashedTensor({5, 24}, 3)}, {"fc.bias", HashedTensor({5}, 4)}});
  EXPECT_FALSE(LacksHead(ForeignSource::kHuggingFace, config, weights));
  config.set_classes(0);
  const absl::StatusOr<TensorMap> renamed = RenameForeign(ForeignSource::kHuggingFace, config, Stored(body));
  EXPECT_TRUE(renamed.ok()) << renamed.status();

  Tensors timm = TimmVitWeights(kSmallVit);
  weights = {};
  weights.tensors = Stored(timm);
  EXPECT_FALSE(LacksHead(ForeignSource::kTimm, SmallVit(ForeignSource::kTimm), weights));
  for (const char* part : {"head.weight", "head.bias"}) weights.tensors.erase(part);
  EXPECT_TRUE(LacksHead(ForeignSource::kTimm, SmallVit(ForeignSource::kTimm), weights));
}

// transformers 5 saves a CLIPVisionModel without the prefix "vision_model."; transformers 4 saves it with this prefix.
TEST(ImportWithoutProjection, NamesTheClassWithAProjection) {
  const v1::ModelConfig config = *ForeignConfig(ForeignSource::kHuggingFace, "clip-vit-base-patch32", 0);
  for (const std::string prefix : {"", "vision_model."}) {
    const TensorMap tensors = Stored({{prefix + "embeddings.class_embedding", HashedTensor({768}, 1)}});
    const absl::StatusOr<TensorMap> renamed = RenameForeign(ForeignSource::kHuggingFace, config, tensors);
    EXPECT_THAT(std::string(renamed.status().message()), testing::HasSubstr("save CLIPVisionModelWithProjection"));
  }
}

// timm stores the projection as a head, whose bias must be zeros.
TEST(ImportWithoutProjection, ExplainsHowTimmStoresTheProjection) {
  const v1::ModelConfig config = *ForeignConfig(ForeignSource::kTimm, "vit_base_patch32_clip_224", 0);
  const auto shapes = *ForeignShapes(ForeignSource::kTimm, config, {});
  TensorMap tensors;
  for (const auto& [name, shape] : shapes) tensors[name].shape = shape;
  const auto fault = [&] {
    return std::string(RenameForeign(ForeignSource::kTimm, config, tensors).status().message());
  };
  EXPECT_EQ(fault(), "");
  tensors.merge(Stored({{"head.bias", HashedTensor({512}, 1)}}));
  EXPECT_EQ(fault(), "tensor \"head.bias\" must be zeros: CLIP's projection has no bias");
  tensors.erase("head.bias");
  tensors.erase("head.weight");
  EXPECT_THAT(fault(),
              testing::AllOf(testing::HasSubstr("\"head.weight\" is missing; the model needs it as [512, 768]"),
                             testing::HasSubstr("CLIP's projection"), testing::HasSubstr("num_classes=512")));
}

}  // namespace
}  // namespace vitrine
