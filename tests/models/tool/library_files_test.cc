// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/export/library_files.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/repository/foreign/import.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

v1::Manifest ManifestOf(const std::string& config) {
  v1::Manifest manifest;
  manifest.set_model("m");
  manifest.set_version(3);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, manifest.mutable_config()));
  return manifest;
}

// Returns a ViT with sizes for which timm has no name.
v1::Manifest OddVit() {
  return ManifestOf(R"pb(
    classes: 2
    preprocessing {
      channels: 1
      mean: 0.1307
      std: 0.3081
      interpolation: BILINEAR
      rounding: PILLOW
      fixed { height: 24 width: 32 fit: STRETCH }
    }
    vit { patch: 4 width: 90 depth: 3 heads: 3 mlp_width: 201 grid_rows: 6 grid_columns: 8 }
  )pb");
}

TEST(FilesForTimm, GiveSizesOfUnnamedModelsAsArguments) {
  const auto files = FilesForTimm(OddVit(), {"a", "b"});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(files->notes, IsEmpty());
  const Json json = Json::parse(files->texts.at("config.json"));
  EXPECT_EQ(json["architecture"], "vit_tiny_patch16_224");
  const Json& arguments = json["model_args"];
  EXPECT_EQ(arguments["img_size"], Json({24, 32}));
  EXPECT_EQ(arguments["in_chans"], 1);
  EXPECT_EQ(arguments["patch_size"], 4);
  EXPECT_EQ(arguments["embed_dim"], 90);
  EXPECT_EQ(arguments["depth"], 3);
  EXPECT_EQ(arguments["num_heads"], 3);
  EXPECT_EQ(json["pretrained_cfg"]["input_size"], Json({1, 24, 32}));
  EXPECT_EQ(json["pretrained_cfg"]["crop_mode"], "squash");
  EXPECT_EQ(json["pretrained_cfg"]["interpolation"], "bilinear");
  EXPECT_EQ(json["pretrained_cfg"]["mean"].dump(), "[0.1307]");
  EXPECT_FALSE(json["pretrained_cfg"].contains("license"));
}

// timm computes the hidden width as int(embed_dim * mlp_ratio).
TEST(FilesForTimm, EveryHiddenWidthIsReproducedFromItsRatio) {
  v1::Manifest manifest = OddVit();
  v1::VitConfig& vit = *manifest.mutable_config()->mutable_vit();
  for (vit.set_width(3); vit.width() < 400; vit.set_width(vit.width() + 3)) {
    vit.set_mlp_width(vit.width() * 2 + 1);
    const Json json = Json::parse(FilesForTimm(manifest, {"a", "b"})->texts.at("config.json"));
    EXPECT_EQ(static_cast<int>(vit.width() * json["model_args"]["mlp_ratio"].get<double>()), vit.mlp_width());
  }
}

TEST(FilesForTimm, NameTheXcitAndItsVariant) {
  v1::Manifest manifest = ManifestOf(R"pb(
    classes: 2
    preprocessing {
      channels: 3
      mean: [ 0.5, 0.5, 0.5 ]
      std: [ 0.5, 0.5, 0.5 ]
      interpolation: BICUBIC
      native { cell: 8 min_tokens: 16 max_tokens: 800 }
    }
    xcit { patch: 8 width: 192 depth: 24 class_depth: 2 heads: 4 mlp_width: 768 tokens_norm: true layer_scale: 1e-5 }
  )pb");
  manifest.mutable_provenance()->set_licence("mit");
  const auto files = FilesForTimm(manifest, {"a", "b"});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(files->notes, ElementsAre("here each image has its own size; timm stretches it to 224 x 224",
                                        "here the resized image is not rounded; timm rounds it to bytes"));
  const Json json = Json::parse(files->texts.at("config.json"));
  EXPECT_THAT(json["architecture"].get<std::string>(), HasSubstr("xcit_tiny_24_p8_"));
  EXPECT_EQ(json["model_args"]["eta"], 1e-5);
  EXPECT_EQ(json["model_args"]["tokens_norm"], true);
  EXPECT_EQ(json["model_args"]["cls_attn_layers"], 2);
  EXPECT_EQ(json["pretrained_cfg"]["license"], "mit");
}

TEST(FilesForTransformers, CropIfTheLibrarySupportsIt) {
  v1::Manifest manifest = OddVit();
  const auto stretched = FilesForTransformers(manifest, {"a", "b"});
  ASSERT_TRUE(stretched.ok()) << stretched.status();
  const Json config = Json::parse(stretched->texts.at("config.json"));
  EXPECT_EQ(config["image_size"], Json({24, 32}));
  EXPECT_EQ(config["intermediate_size"], 201);
  EXPECT_EQ(config["layer_norm_eps"], 1e-6);
  EXPECT_EQ(config["label2id"]["b"], 1);
  EXPECT_EQ(Json::parse(stretched->texts.at("preprocessor_config.json"))["resample"], 2);
  EXPECT_THAT(stretched->notes, IsEmpty());
  EXPECT_THAT(FilesForTransformers(manifest, {"a", "a"})->notes, ElementsAre(HasSubstr("label2id")));

  v1::FixedResolution& fixed = *manifest.mutable_config()->mutable_preprocessing()->mutable_fixed();
  fixed.set_fit(v1::FixedResolution::CENTER_CROP);
  fixed.set_crop(0.9);
  EXPECT_THAT(FilesForTransformers(manifest, {"a", "b"})->notes,
              ElementsAre("here images are cropped; transformers stretches them"));
  fixed.set_height(32);
  manifest.mutable_config()->mutable_vit()->set_grid_rows(8);
  const auto cropped = FilesForTransformers(manifest, {"a", "b"});
  EXPECT_THAT(cropped->notes, IsEmpty());
  const Json processor = Json::parse(cropped->texts.at("preprocessor_config.json"));
  EXPECT_EQ(processor["image_processor_type"], "BitImageProcessor");
  EXPECT_EQ(processor["size"]["shortest_edge"], 35);
  EXPECT_EQ(processor["crop_size"]["height"], 32);
}

TEST(LibraryFiles, RefuseModelsThatTheLibraryComputesDifferently) {
  v1::Manifest manifest = OddVit();
  manifest.mutable_config()->mutable_vit()->set_norm(v1::VitConfig::POST);
  for (const auto make : {FilesForTimm, FilesForTransformers}) {
    const absl::Status status = make(manifest, {"a", "b"}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("m/3 is a ViT with LayerNorm behind its blocks"));
  }
  manifest = OddVit();
  manifest.mutable_config()->mutable_vit()->set_norm_epsilon(1e-5F);
  EXPECT_THAT(std::string(FilesForTimm(manifest, {"a", "b"}).status().message()), HasSubstr("epsilon 1e-05"));
  EXPECT_TRUE(FilesForTransformers(manifest, {"a", "b"}).ok());
  *manifest.mutable_config() = *ForeignConfig(ForeignSource::kTimm, "vit_base_patch32_clip_224", 0);
  EXPECT_TRUE(FilesForTimm(manifest, {}).ok());
  manifest.mutable_config()->set_classes(2);
  EXPECT_THAT(std::string(FilesForTimm(manifest, {"a", "b"}).status().message()),
              HasSubstr("m/3 has a head beside CLIP's projection"));
}

}  // namespace
}  // namespace vitrine
