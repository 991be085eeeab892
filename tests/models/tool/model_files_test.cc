// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/model_files.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_replace.h"
#include "models/tool/publish/import/architecture.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTimm[] = R"({"architecture": "vit_tiny_patch16_224", "pretrained_cfg": {"mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225], "crop_pct": 0.95, "interpolation": "bilinear", "input_size": [3, 224, 224]}})";

ImportOptions Timm() {
  return {.source = "timm", .arch = "vit_tiny_patch16_224.augreg_in21k"};
}

ImportOptions Transformers() {
  return {.source = "huggingface", .arch = "vit-tiny-patch16-224"};
}

absl::Status Take(const std::string& json, ImportOptions& options) {
  return TakePreprocessing({{"x.json", json}}, options).status();
}

std::string Refusal(const std::string& json, ImportOptions options) {
  return std::string(Take(json, options).message());
}

TEST(ModelFiles, StatisticsOfTimmAreUsedAndReported) {
  ImportOptions options = Timm();
  const auto taken = TakePreprocessing({{"x.json", kTimm}}, options);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(options.mean, ElementsAre(0.485F, 0.456F, 0.406F));
  EXPECT_THAT(options.std, ElementsAre(0.229F, 0.224F, 0.225F));
  EXPECT_EQ(options.crop, 0.95);
  EXPECT_EQ(options.interpolation, "bilinear");
  EXPECT_THAT(*taken, ElementsAre(AllOf(HasSubstr("x.json: taken from it: mean 0.485,0.456,0.406"),
                                        HasSubstr("interpolation bilinear"), HasSubstr("crop 0.95"))));
}

TEST(ModelFiles, ExplicitOptionsHavePriority) {
  ImportOptions options = Timm();
  options.mean = {0.1F, 0.2F, 0.3F};
  options.interpolation = "bicubic";
  options.native = "36-1024";
  ASSERT_TRUE(Take(kTimm, options).ok());
  EXPECT_THAT(options.mean, ElementsAre(0.1F, 0.2F, 0.3F));
  EXPECT_EQ(options.std[0], 0.229F);
  EXPECT_EQ(options.interpolation, "bicubic");
  EXPECT_FALSE(options.crop.has_value()) << "--native has no crop";
}

TEST(ModelFiles, ConfigOfAnotherModelIsRefused) {
  EXPECT_THAT(Refusal(R"({"architecture": "deit_tiny_patch16_224"})", Timm()),
              AllOf(HasSubstr("is a deit_tiny_patch16_224"), HasSubstr("give --arch deit_tiny_patch16_224")));
  EXPECT_THAT(Refusal(R"({"architecture": "vit_tiny_patch16_224"})", Transformers()), HasSubstr("--from timm --arch"));
  EXPECT_THAT(Refusal(R"({"architecture": "vit_tiny_patch16_224", "global_pool": "avg"})", Timm()),
              HasSubstr("global_pool"));
  EXPECT_THAT(Refusal(R"({"pretrained_cfg": {"input_size": [3, 384, 384]}})", Timm()),
              HasSubstr("images of 384x384, but --arch vit_tiny_patch16_224.augreg_in21k takes 224x224"));
  EXPECT_THAT(Refusal(R"({"model_type": "swin"})", Transformers()), HasSubstr("is a swin of transformers"));
  EXPECT_THAT(Refusal(R"({"model_type": "vit", "num_attention_heads": 12})", Transformers()),
              HasSubstr("has 12 attention heads, but --arch vit-tiny-patch16-224 has 3"));
  EXPECT_THAT(Refusal(R"({"model_args": {"num_heads": 6}})", Timm()), HasSubstr("has 6 attention heads"));
  EXPECT_THAT(Refusal(R"({"model_type": "vit", "hidden_act": "relu"})", Transformers()), HasSubstr("hidden_act relu"));
  EXPECT_THAT(Refusal(R"({"model_args": {"act_layer": "relu"}})", Timm()),
              HasSubstr("x.json has model_args.act_layer \"relu\", but --arch vit_tiny_patch16_224.augreg_in21k has "
                        "\"gelu\""));
  EXPECT_THAT(Refusal(R"({"model_args": {"norm_layer": "rmsnorm"}})", Timm()), HasSubstr("norm_layer"));
  EXPECT_THAT(Refusal(R"({"model_args": {"global_pool": "avg"}})", Timm()), HasSubstr("global_pool"));
  EXPECT_THAT(Refusal(R"({"model_args": {"tokens_norm": true}})", {.source = "timm", .arch = "xcit_nano_12_p16_224"}),
              HasSubstr("tokens_norm true, but --arch xcit_nano_12_p16_224 has false"));
  EXPECT_THAT(Refusal(R"({"pretrained_cfg": {"input_size": [1, 224, 224], "mean": [0.5]}})", Timm()),
              HasSubstr("is for images of 1 channel; only 3 are supported"));
  EXPECT_THAT(Refusal(R"({"model_type": "vit", "image_size": 384})", Transformers()), HasSubstr("images of 384x384"));
  EXPECT_THAT(Refusal("{'0': 'cat'}", Timm()), HasSubstr("x.json: it is not JSON"));
}

TEST(ModelFiles, UnsupportedSettingsAreRefusedUnlessAFlagReplacesThem) {
  ImportOptions options = Timm();
  const std::string lanczos = R"({"pretrained_cfg": {"interpolation": "lanczos"}})";
  EXPECT_THAT(Refusal(lanczos, options), HasSubstr("scaled by lanczos"));
  options.interpolation = "bicubic";
  EXPECT_TRUE(Take(lanczos, options).ok());
  const std::string bytes = R"({"pretrained_cfg": {"mean": [123.675, 116.28, 103.53]}})";
  EXPECT_THAT(Refusal(bytes, options), AllOf(HasSubstr("the mean 123.675"), HasSubstr("by 255"), HasSubstr("--mean")));
  EXPECT_THAT(Refusal(R"({"pretrained_cfg": {"std": [0.5]}})", options), HasSubstr("not three numbers"));
  EXPECT_THAT(Refusal(R"({"pretrained_cfg": {"crop_mode": "border", "crop_pct": 0.9}})", options),
              HasSubstr("crop_mode border"));
}

TEST(ModelFiles, ArgumentsOfTheArchitectureAreAccepted) {
  EXPECT_EQ(Refusal(R"({"model_args": {"act_layer": "gelu", "norm_layer": null, "global_pool": "token", "depth": 12,
                                       "img_size": [224, 224], "drop_path_rate": 0.1}})",
                    Timm()),
            "");
  EXPECT_EQ(Refusal(R"({"model_args": {"act_layer": "quick_gelu"}})",
                    {.source = "timm", .arch = "vit_base_patch32_clip_quickgelu_224"}),
            "");
  EXPECT_EQ(Refusal(R"({"model_args": {"tokens_norm": true}})", {.source = "timm", .arch = "xcit_tiny_12_p16_224"}),
            "");
}

// timm has two models for OpenAI's weights of CLIP. Both models accept these weights, but only one of them, with
// QuickGELU, gives OpenAI's results.
TEST(ModelFiles, QuickGeluWeightsAreReported) {
  const std::string openai = R"({"architecture": "vit_base_patch32_clip_224", "pretrained_cfg": {"tag": "openai",
      "notes": ["natively QuickGELU, use quickgelu model variant for original results"]}})";
  ImportOptions options = {.source = "timm", .arch = "vit_base_patch32_clip_224.openai"};
  const auto told = TakePreprocessing({{"x.json", openai}}, options);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_THAT(*told, ElementsAre(HasSubstr("--arch vit_base_patch32_clip_quickgelu_224")));
  options.arch = "vit_base_patch32_clip_quickgelu_224";
  const auto chosen = TakePreprocessing({{"x.json", openai}}, options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_THAT(*chosen, IsEmpty());
}

TEST(ModelFiles, SquashOfTimmBecomesStretch) {
  ImportOptions options = Timm();
  ASSERT_TRUE(Take(R"({"pretrained_cfg": {"crop_mode": "squash", "crop_pct": 1.0}})", options).ok());
  EXPECT_EQ(options.fit, "stretch");
  EXPECT_FALSE(options.crop.has_value());
}

TEST(ModelFiles, PreprocessorOfTransformersIsUsed) {
  ImportOptions options = Transformers();
  ASSERT_TRUE(Take(R"({"image_processor_type": "ViTImageProcessor", "image_mean": [0.485, 0.456, 0.406],
                       "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": {"height": 224, "width": 224}})",
                   options)
                  .ok());
  EXPECT_EQ(options.mean[1], 0.456F);
  EXPECT_EQ(options.std[1], 0.224F);
  EXPECT_EQ(options.interpolation, "bicubic");
  EXPECT_EQ(options.fit, "stretch");

  options = Transformers();
  ASSERT_TRUE(Take(R"({"image_mean": [0, 0, 0], "do_normalize": false, "size": {"shortest_edge": 248},
                       "do_center_crop": true, "crop_size": 224})",
                   options)
                  .ok());
  EXPECT_THAT(options.mean, ElementsAre(0, 0, 0));
  EXPECT_THAT(options.std, ElementsAre(1, 1, 1));
  EXPECT_EQ(options.fit, "crop");
  EXPECT_EQ(static_cast<int>(224 / *options.crop), 248);

  const std::string deit = R"({"image_mean": [0.5, 0.5, 0.5], "size": 256, "crop_size": 224, "do_center_crop": true})";
  EXPECT_THAT(Refusal(deit, Transformers()), AllOf(HasSubstr("size 256"), HasSubstr("--fit and --crop")));
  options = Transformers();
  options.fit = "crop";
  options.crop = 0.875;
  EXPECT_TRUE(Take(deit, options).ok());
  const std::string unscaled = R"({"image_mean": [0.5, 0.5, 0.5], "do_resize": false, "size": 224})";
  EXPECT_THAT(Refusal(unscaled, Transformers()), AllOf(HasSubstr("do_resize"), HasSubstr("--fit and --crop")));
  EXPECT_TRUE(Take(unscaled, options).ok());
  EXPECT_THAT(Refusal(R"({"image_mean": [0.5, 0.5, 0.5], "rescale_factor": 0.00784})", Transformers()),
              HasSubstr("rescale_factor"));
  EXPECT_THAT(Refusal(R"({"image_mean": [0.5, 0.5, 0.5], "size": 384})", Transformers()), HasSubstr("384x384"));
}

TEST(ModelFiles, EpsilonOfTransformersIsUsed) {
  ImportOptions options = Transformers();
  ASSERT_TRUE(Take(R"({"model_type": "vit", "layer_norm_eps": 1e-6})", options).ok());
  EXPECT_EQ(options.norm_epsilon, 1e-6F);
}

TEST(ModelFiles, FlagsHaveTheirDocumentedRanges) {
  for (const double mean : {0., 0.485, 1.}) EXPECT_EQ(FaultOfMean(mean), "") << mean;
  for (const double mean : {-0.5, 1.5, std::nan("")}) EXPECT_NE(FaultOfMean(mean), "") << mean;
  for (const double std : {1 / 255., 0.229, 1.}) EXPECT_EQ(FaultOfStd(std), "") << std;
  for (const double std : {0., -1., 58.395}) EXPECT_NE(FaultOfStd(std), "") << std;
  EXPECT_THAT(FaultOfMean(123.675), HasSubstr("divide"));
  for (const double crop : {0., -0.5, 90.}) EXPECT_EQ(FaultOfCrop(crop), "must be above 0 and at most 1") << crop;
  EXPECT_EQ(FaultOfCrop(0.875), "");
}

TEST(ModelFiles, AreFoundBesideWeightsAndLabels) {
  const ScratchFolder folder;
  folder.Write("a/config.json", R"({"label_names": ["cat", "dog"]})");
  folder.Write("a/preprocessor_config.json", "{}");
  folder.Write("a/model.safetensors", "");
  folder.Write("b/names.json", "[]");
  const auto names = [&](const std::string& weights, const std::string& labels) {
    std::vector<std::string> found;
    const auto files = FilesOfModel({.weights = folder.Path(weights), .labels = labels});
    for (const ModelFile& file : *files) {
      found.push_back(std::filesystem::relative(file.name, folder.path()).string());
    }
    return found;
  };
  EXPECT_THAT(names("a", ""), ElementsAre("a/config.json", "a/preprocessor_config.json"));
  EXPECT_THAT(names("a/model.safetensors", folder.Path("a/config.json")),
              ElementsAre("a/config.json", "a/preprocessor_config.json"));
  EXPECT_THAT(names("a", folder.Path("b/names.json")),
              ElementsAre("b/names.json", "a/config.json", "a/preprocessor_config.json"));
  EXPECT_THAT(names("b/x.safetensors", folder.Path("a/config.json")),
              ElementsAre("a/config.json", "a/preprocessor_config.json"));
  EXPECT_THAT(names("b/x.safetensors", "labels.txt"), IsEmpty());
  folder.Write("a/preprocessor_config.json", std::string((4 << 20) + 1, ' '));
  EXPECT_FALSE(FilesOfModel({.weights = folder.Path("a")}).ok()) << "it may state other preprocessing than the default";
}

constexpr char kOpenClip[] = R"({"model_cfg": {"embed_dim": 512, "quick_gelu": true, "vision_cfg": {"image_size": 224,
    "layers": 12, "width": 768, "patch_size": 32, "head_width": 64, "patch_dropout": 0.5, "pool_type": "tok"}},
    "preprocess_cfg": {"size": 224, "mean": [0.5, 0.5, 0.5], "interpolation": "bilinear", "resize_mode": "shortest"}})";

// Returns kOpenClip with `before` replaced by `after`.
std::string OpenClipWith(const std::string& before, const std::string& after) {
  EXPECT_THAT(kOpenClip, HasSubstr(before));
  return absl::StrReplaceAll(kOpenClip, {{before, after}});
}

TEST(ModelFiles, OpenClipConfigGivesArchitectureAndPreprocessing) {
  ImportOptions options;
  ASSERT_TRUE(TakeArchitecture({{"x.json", kOpenClip}}, options).ok());
  EXPECT_EQ(options.source, "openclip");
  EXPECT_EQ(options.arch, "ViT-B-32-quickgelu");
  ASSERT_TRUE(Take(kOpenClip, options).ok());
  EXPECT_THAT(options.mean, ElementsAre(0.5F, 0.5F, 0.5F));
  EXPECT_THAT(options.std, IsEmpty()) << "the architecture's";
  EXPECT_EQ(options.interpolation, "bilinear");
  EXPECT_EQ(options.fit, "");
  ImportOptions exact;
  ASSERT_TRUE(
      TakeArchitecture({{"x.json", OpenClipWith("\"quick_gelu\": true", "\"quick_gelu\": false")}}, exact).ok());
  EXPECT_EQ(exact.arch, "ViT-B-32");
  EXPECT_THAT(Refusal(kOpenClip, exact), HasSubstr("is a ViT-B-32-quickgelu, but --arch says ViT-B-32"));
  EXPECT_THAT(Refusal(OpenClipWith("shortest", "longest"), options), HasSubstr("has resize_mode longest"));
  EXPECT_THAT(Refusal(OpenClipWith("\"size\": 224", "\"size\": [256, 256]"), options), HasSubstr("images of 256x256"));
  ASSERT_TRUE(Take(OpenClipWith("shortest", "squash"), options).ok());
  EXPECT_EQ(options.fit, "stretch");
}

TEST(ModelFiles, UnsupportedTowersOfOpenClipAreRefused) {
  const auto refusal = [](const std::string& before, const std::string& after) {
    ImportOptions options;
    return std::string(TakeArchitecture({{"x.json", OpenClipWith(before, after)}}, options).message());
  };
  EXPECT_THAT(refusal("\"width\": 768", R"("timm_model_name": "vit_base_patch16_siglip_224")"),
              HasSubstr("x.json describes a model of OpenCLIP with timm's image tower vit_base_patch16_siglip_224"));
  EXPECT_THAT(refusal("\"tok\"", "\"avg\""), HasSubstr("with vision_cfg.pool_type \"avg\", which is not supported"));
  EXPECT_THAT(refusal("\"layers\": 12", "\"layers\": [3, 4, 6, 3]"), HasSubstr("vision_cfg.layers [3,4,6,3]"));
  EXPECT_THAT(refusal("patch_dropout\": 0.5", "no_ln_pre\": true"), HasSubstr("vision_cfg.no_ln_pre true"));
  EXPECT_THAT(refusal("\"head_width\": 64", "\"head_width\": 32"), HasSubstr("vision_cfg.head_width 32"));
  EXPECT_THAT(refusal("\"width\": 768", "\"width\": 896"), HasSubstr("with width 896, layers 12, patch_size 32"));
  EXPECT_THAT(refusal("vision_cfg", "audio_cfg"), HasSubstr("without vision_cfg"));
  EXPECT_THAT(refusal("\"quick_gelu\": true", "\"quick_gelu\": \"true\""), HasSubstr("with quick_gelu \"true\""));
}

TEST(ModelFiles, OpenClipConfigIsUsedOnlyForOpenClipWeights) {
  const ScratchFolder folder;
  for (const char* name : {"open_clip_config.json", "open_clip_model.safetensors"}) folder.Write(name, "{}");
  const auto first = [&](const std::string& weights) {
    const auto files = FilesOfModel({.weights = folder.Path(weights)});
    return files->empty() ? "" : std::filesystem::path(files->front().name).filename().string();
  };
  EXPECT_EQ(first(""), "open_clip_config.json");
  for (const char* name : {"config.json", "model.safetensors"}) folder.Write(name, "{}");
  EXPECT_EQ(first(""), "config.json") << "the folder is imported as one of transformers or timm";
  EXPECT_EQ(first("model.safetensors"), "config.json");
  EXPECT_EQ(first("open_clip_model.safetensors"), "open_clip_config.json");
}

}  // namespace
}  // namespace vitrine
