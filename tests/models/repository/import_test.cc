// SPDX-License-Identifier: Apache-2.0
// Tests foreign checkpoints: an imported model computes the same as the library that the checkpoint comes from.
// Checkpoints that do not fit the architecture are rejected.
#include "models/repository/foreign/import.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/reference/model.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/models/repository/sample_version.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
// Names of a block's tensors in one library.
struct BlockNames {
  std::string norm1, proj, norm2, fc1, fc2;
};

// Computes the forward pass with weights that have the names of one library. `qkv` returns q, k and v [tokens, width].
template <typename Qkv>
at::Tensor VitForward(const Tensors& w, const at::Tensor& image, const std::string& embed, const std::string& token,
                      const std::string& positions, const std::string& norm, const std::string& head, double epsilon,
                      const std::vector<BlockNames>& blocks, const Qkv& qkv) {
  const auto linear = [&](const std::string& name, const at::Tensor& x) {
    return at::linear(x, w.at(name + ".weight"), w.at(name + ".bias"));
  };
  const auto normed = [&](const std::string& name, const at::Tensor& x) {
    return at::layer_norm(x, {x.size(-1)}, w.at(name + ".weight"), w.at(name + ".bias"), epsilon);
  };
  const int64_t patch = w.at(embed + ".weight").size(2);
  const at::Tensor map = at::conv2d(image.unsqueeze(0), w.at(embed + ".weight"), w.at(embed + ".bias"), patch);
  at::Tensor x = at::cat({w.at(token)[0], map[0].flatten(1).t()}) + w.at(positions)[0];
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::array<at::Tensor, 3> parts = qkv(static_cast<int>(i), normed(blocks[i].norm1, x));
    const auto heads = [](const at::Tensor& part) { return part.view({part.size(0), 3, -1}).transpose(0, 1); };
    const at::Tensor scores = heads(parts[0]).matmul(heads(parts[1]).transpose(1, 2)) / std::sqrt(x.size(1) / 3.0);
    const at::Tensor mixed = scores.softmax(-1).matmul(heads(parts[2])).transpose(0, 1).reshape(x.sizes());
    x = x + linear(blocks[i].proj, mixed);
    x = x + linear(blocks[i].fc2, at::gelu(linear(blocks[i].fc1, normed(blocks[i].norm2, x))));
  }
  return linear(head, normed(norm, x)[0]);
}

at::Tensor TimmForward(const Tensors& w, const at::Tensor& image) {
  std::vector<BlockNames> blocks;
  for (const std::string block : {"blocks.0", "blocks.1"}) {
    blocks.push_back(
        {block + ".norm1", block + ".attn.proj", block + ".norm2", block + ".mlp.fc1", block + ".mlp.fc2"});
  }
  return VitForward(
      w, image, "patch_embed.proj", "cls_token", "pos_embed", "norm", "head", 1e-6, blocks,
      [&](int block, const at::Tensor& x) {
        const std::string name = "blocks." + std::to_string(block) + ".attn.qkv";
        const at::Tensor qkv = at::linear(x, w.at(name + ".weight"), w.at(name + ".bias"));
        return std::array<at::Tensor, 3>{qkv.narrow(1, 0, 24), qkv.narrow(1, 24, 24), qkv.narrow(1, 48, 24)};
      });
}

at::Tensor HuggingFaceForward(const Tensors& w, const at::Tensor& image) {
  std::vector<BlockNames> blocks;
  for (const std::string layer : {"vit.encoder.layer.0", "vit.encoder.layer.1"}) {
    blocks.push_back({layer + ".layernorm_before", layer + ".attention.output.dense", layer + ".layernorm_after",
                      layer + ".intermediate.dense", layer + ".output.dense"});
  }
  return VitForward(w, image, "vit.embeddings.patch_embeddings.projection", "vit.embeddings.cls_token",
                    "vit.embeddings.position_embeddings", "vit.layernorm", "classifier", 1e-12, blocks,
                    [&](int block, const at::Tensor& x) {
                      std::array<at::Tensor, 3> parts;
                      const char* const kNames[] = {"query", "key", "value"};
                      for (int i = 0; i < 3; ++i) {
                        const std::string name =
                            "vit.encoder.layer." + std::to_string(block) + ".attention.attention." + kNames[i];
                        parts[i] = at::linear(x, w.at(name + ".weight"), w.at(name + ".bias"));
                      }
                      return parts;
                    });
}

at::Tensor Imported(ForeignSource source, const Tensors& foreign, const at::Tensor& image) {
  const v1::ModelConfig config = SmallVit(source);
  const absl::StatusOr<TensorMap> renamed = RenameForeign(source, config, Stored(foreign));
  EXPECT_TRUE(renamed.ok()) << renamed.status();
  const auto model = *MakeModel(config);
  EXPECT_TRUE(LoadWeights({*renamed, {}}, *model).ok());
  return (*RunModel(*model, {image}))[0];
}

TEST(Import, TimmVitAgreesWithTimm) {
  const at::Tensor image = HashedTensor({3, 12, 16}, 99);
  const Tensors foreign = TimmVitWeights(kSmallVit);
  const at::Tensor logits = Imported(ForeignSource::kTimm, foreign, image);
  EXPECT_LT((logits - TimmForward(foreign, image)).abs().max().item<float>(), 1e-5);
}

TEST(Import, HuggingFaceVitAgreesWithTransformers) {
  const at::Tensor image = HashedTensor({3, 12, 16}, 99);
  Tensors foreign = HuggingFaceVitWeights(kSmallVit);
  foreign["vit.pooler.dense.weight"] = HashedTensor({24, 24}, 1);  // does not affect the logits
  const at::Tensor logits = Imported(ForeignSource::kHuggingFace, foreign, image);
  EXPECT_LT((logits - HuggingFaceForward(foreign, image)).abs().max().item<float>(), 1e-5);
}

TEST(Import, StoredTypesAreKept) {
  Tensors foreign = TimmVitWeights(kSmallVit);
  for (auto& [name, tensor] : foreign) tensor = tensor.to(at::kHalf);
  const TensorMap renamed = *RenameForeign(ForeignSource::kTimm, SmallVit(ForeignSource::kTimm), Stored(foreign));
  for (const auto& [name, tensor] : renamed) EXPECT_EQ(tensor.dtype, Dtype::kF16) << name;
}

TEST(Import, PartsOfDifferentTypesAreWidened) {
  const at::Tensor image = HashedTensor({3, 12, 16}, 99);
  for (const std::string part : {"query", "value"}) {
    Tensors foreign = HuggingFaceVitWeights(kSmallVit);
    at::Tensor& weight = foreign["vit.encoder.layer.0.attention.attention." + part + ".weight"];
    weight = weight.to(at::kHalf);
    const at::Tensor logits = Imported(ForeignSource::kHuggingFace, foreign, image);
    weight = weight.to(at::kFloat);
    EXPECT_LT((logits - HuggingFaceForward(foreign, image)).abs().max().item<float>(), 1e-5) << part;
  }
}

// Each of our tensors comes from a tensor of timm, for both patch sizes.
TEST(Import, TimmXcitFillsEveryTensor) {
  for (const auto& [arch, patch] : {std::pair("xcit_nano_12_p16_224", 16), std::pair("xcit_nano_12_p8_224", 8)}) {
    const v1::ModelConfig config = *ForeignConfig(ForeignSource::kTimm, arch, 7);
    const Tensors foreign = TimmXcitWeights(128, 12, 4, patch, 7);
    const absl::StatusOr<TensorMap> renamed = RenameForeign(ForeignSource::kTimm, config, Stored(foreign));
    ASSERT_TRUE(renamed.ok()) << renamed.status();
    const auto model = *MakeModel(config);
    ASSERT_TRUE(LoadWeights({*renamed, {}}, *model).ok());
    EXPECT_TRUE(TensorOf(renamed->at("blocks.11.local_scale")).equal(foreign.at("blocks.11.gamma3")));
    EXPECT_TRUE(TensorOf(renamed->at("blocks.11.feed_forward_scale")).equal(foreign.at("blocks.11.gamma2")));
    EXPECT_TRUE(TensorOf(renamed->at("blocks.3.local.norm.bias")).equal(foreign.at("blocks.3.norm3.bias")));
    EXPECT_TRUE(TensorOf(renamed->at("blocks.3.feed_forward.norm.bias")).equal(foreign.at("blocks.3.norm2.bias")));
    EXPECT_TRUE(TensorOf(renamed->at("class_blocks.1.attention.k.weight"))
                    .equal(foreign.at("cls_attn_blocks.1.attn.k.weight")));
    EXPECT_TRUE(
        TensorOf(renamed->at("stem.norms.2.running_var")).equal(foreign.at("patch_embed.proj.4.1.running_var")));
  }
}

bool AreTheSame(const StoredTensor& a, const StoredTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.data.get(), b.data.get(), static_cast<size_t>(a.bytes())) == 0;
}

void ExpectGivenBack(ForeignSource source, const v1::ModelConfig& config, const Tensors& tensors) {
  TensorMap foreign = Stored(tensors);
  const TensorMap back = *ForeignTensors(source, config, *RenameForeign(source, config, foreign));
  std::erase_if(foreign, [](const auto& named) { return named.first.ends_with(".num_batches_tracked"); });
  ASSERT_EQ(back.size(), foreign.size());
  for (const auto& [name, tensor] : foreign) {
    ASSERT_TRUE(back.contains(name)) << name;
    EXPECT_TRUE(AreTheSame(back.at(name), tensor)) << name;
  }
}

TEST(Import, ForeignTensorsAreRestored) {
  ExpectGivenBack(ForeignSource::kTimm, SmallVit(ForeignSource::kTimm), TimmVitWeights(kSmallVit));
  ExpectGivenBack(ForeignSource::kHuggingFace, SmallVit(ForeignSource::kHuggingFace), HuggingFaceVitWeights(kSmallVit));
  ExpectGivenBack(ForeignSource::kTimm, *ForeignConfig(ForeignSource::kTimm, "xcit_nano_12_p16_224", 7),
                  TimmXcitWeights(128, 12, 4, 16, 7));
  v1::ModelConfig config = SmallVit(ForeignSource::kTimm);
  EXPECT_THAT(ForeignTensors(ForeignSource::kTimm, config, {}).status(), Refuses(kInvalid, HasSubstr("another form")));
  config.mutable_null();
  EXPECT_THAT(ForeignTensors(ForeignSource::kTimm, config, {}).status(), Refuses(kInvalid, HasSubstr("family")));
}

class ImportRefusal : public testing::Test {
 protected:
  absl::Status Try(const Tensors& tensors) {
    return RenameForeign(ForeignSource::kTimm, SmallVit(ForeignSource::kTimm), Stored(tensors)).status();
  }
  Tensors tensors_ = TimmVitWeights(kSmallVit);
};

TEST_F(ImportRefusal, RefusesAMissingTensor) {
  tensors_.erase("blocks.1.mlp.fc2.bias");
  EXPECT_THAT(Try(tensors_), Refuses(kRefused, HasSubstr("tensor \"blocks.1.mlp.fc2.bias\" is missing; the model needs "
                                                         "it as [24]")));
}

TEST_F(ImportRefusal, RefusesExtraTensors) {
  tensors_["head_dist.weight"] = HashedTensor({5, 24}, 1);
  tensors_["head_dist.bias"] = HashedTensor({5}, 1);
  EXPECT_THAT(Try(tensors_),
              Refuses(kRefused, AllOf(HasSubstr("tensor \"head_dist.bias\" is in the file, but the model "
                                                "has no such tensor"),
                                      HasSubstr("(and 1 more)"))));
}

TEST_F(ImportRefusal, RefusesADeeperModel) {
  VitSizes deeper = kSmallVit;
  deeper.depth = 3;
  EXPECT_THAT(Try(TimmVitWeights(deeper)), Refuses(kRefused, HasSubstr("tensor \"blocks.2.")));
}

TEST_F(ImportRefusal, RefusesAWrongShape) {
  tensors_["pos_embed"] = HashedTensor({1, 26, 24}, 1);
  EXPECT_THAT(Try(tensors_),
              Refuses(kRefused, HasSubstr("tensor \"pos_embed\" has shape [1, 26, 24]; the model needs [1, 13, 24]")));
}

TEST_F(ImportRefusal, RefusesTransposedPatchesOfEqualSize) {
  tensors_["patch_embed.proj.weight"] = tensors_["patch_embed.proj.weight"].permute({0, 2, 3, 1}).contiguous();
  EXPECT_THAT(Try(tensors_), Refuses(kRefused, HasSubstr("has shape [24, 4, 4, 3]; the model needs [24, 3, 4, 4]")));
}

TEST_F(ImportRefusal, RefusesIntegersAndNan) {
  Tensors integers = tensors_;
  integers["norm.bias"] = at::full({24}, 1, at::kLong);
  EXPECT_THAT(Try(integers), Refuses(kRefused, HasSubstr("tensor \"norm.bias\" is stored as I64")));
  tensors_["blocks.0.attn.qkv.weight"][5][7] = std::nan("");
  EXPECT_THAT(Try(tensors_), Refuses(kRefused, HasSubstr("tensor \"blocks.0.attn.qkv.weight\" holds NaN or infinity")));
}

TEST_F(ImportRefusal, NamesTheOtherLibraryOfAFile) {
  EXPECT_THAT(Try(HuggingFaceVitWeights(kSmallVit)), Refuses(kRefused, HasSubstr("--from huggingface")));
  EXPECT_THAT(
      RenameForeign(ForeignSource::kHuggingFace, SmallVit(ForeignSource::kHuggingFace), Stored(tensors_)).status(),
      Refuses(kRefused, HasSubstr("--from timm")));
}

TEST_F(ImportRefusal, RefusesFamiliesThatTheSourceLacks) {
  v1::ModelConfig config = SmallVit(ForeignSource::kTimm);
  config.mutable_null();
  EXPECT_THAT(RenameForeign(ForeignSource::kTimm, config, {}).status(), Refuses(kInvalid, HasSubstr("family")));
  config = SmallVit(ForeignSource::kTimm);
  config.mutable_vit()->set_norm(v1::VitConfig::POST);
  EXPECT_THAT(RenameForeign(ForeignSource::kTimm, config, Stored(tensors_)).status(),
              Refuses(kInvalid, HasSubstr("another form")));
}

TEST(ForeignConfig, EveryNameGivesAModel) {
  for (const ForeignSource source : {ForeignSource::kTimm, ForeignSource::kHuggingFace}) {
    for (const std::string& arch : ForeignArchs(source)) {
      const absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(*ForeignConfig(source, arch, 10), 0, at::kMeta);
      ASSERT_TRUE(model.ok()) << arch << ": " << model.status();
    }
  }
}

// Compares whole configs. A comparison of parameter counts would not detect a wrong number of heads, scale or
// statistic.
TEST(ForeignConfig, EveryNameGivesItsStoredConfig) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string all;
  for (const ForeignSource source : {ForeignSource::kTimm, ForeignSource::kHuggingFace}) {
    for (const std::string& arch : ForeignArchs(source)) {
      std::string config;
      printer.PrintToString(*ForeignConfig(source, arch, 10), &config);
      all += arch + ": " + config + "\n";
    }
  }
  ExpectStored("foreign_archs.txt", all);
}

TEST(ForeignConfig, TagsOfTheSamePreprocessingAreAccepted) {
  const std::string name = "vit_base_patch16_224";
  const std::string plain = ForeignConfig(ForeignSource::kTimm, name, 10)->SerializeAsString();
  for (const char* tag : {".augreg_in21k", ".orig_in21k", ".sam_in1k", ".fb_in1k"}) {
    const auto config = ForeignConfig(ForeignSource::kTimm, name + tag, 10);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->SerializeAsString(), plain) << tag;
  }
  EXPECT_EQ(ForeignConfig(ForeignSource::kTimm, name, 7)->classes(), 7);
}

TEST(ForeignConfig, ATagOfFineTunedWeightsKeepsTheFamily) {
  const auto config = ForeignConfig(ForeignSource::kTimm, "xcit_nano_12_p16_224.fb_in22k_ft_in1k", 10);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->has_xcit());
  EXPECT_EQ(config->classes(), 10);
}

TEST(ForeignConfig, RefusesUnknownNamesAndTags) {
  EXPECT_THAT(ForeignConfig(ForeignSource::kTimm, "resnet50", 10).status(),
              Refuses(kInvalid, testing::Eq("no architecture \"resnet50\"; `vitrine-repo import --help` lists the "
                                            "supported ones")));
  EXPECT_THAT(ForeignConfig(ForeignSource::kTimm, "deit3_small_patch16_224.fb_in22k_ft_in1k", 10).status(),
              Refuses(kInvalid, HasSubstr("fb_in22k_ft_in1k\"; similar are deit_small_patch16_224, "
                                          "vit_small_patch16_224, deit_base_patch16_224; `")));
  EXPECT_THAT(ForeignConfig(ForeignSource::kTimm, "vit_small_patch16_dinov3.lvd1689m", 10).status(),
              Refuses(kInvalid, HasSubstr("no architecture \"vit_small_patch16_dinov3.lvd1689m\"; similar are ")));
  EXPECT_THAT(ForeignConfig(ForeignSource::kTimm, "vit_base_patch16_224.dino", 10).status(),
              Refuses(kInvalid, HasSubstr("--mean")));
  EXPECT_THAT(ForeignConfig(ForeignSource::kHuggingFace, "vit_tiny_patch16_224", 10).status(),
              Refuses(kInvalid, HasSubstr("vit-tiny-patch16-224")));
}

TEST(ReadForeignWeights, PicklesAreRefusedByNameAndByContent) {
  const ScratchFolder folder{FastParent()};
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    WriteFile(folder.path() / name, bytes);
    return ReadForeignWeights(folder.path() / name).status();
  };
  for (const char* name : {"pytorch_model.bin", "model.pth", "model.PT", "model.ckpt", "model.pkl"}) {
    EXPECT_THAT(refused(name, "anything"),
                Refuses(kInvalid, AllOf(HasSubstr("is a pickle"), HasSubstr("runs any code"),
                                        HasSubstr("safetensors.torch.save_file"), HasSubstr("weights_only=True"))));
  }
  EXPECT_THAT(refused("zip.safetensors", std::string("PK\x03\x04more", 8)),
              Refuses(kInvalid, HasSubstr("zip archive")));
  EXPECT_THAT(refused("old.safetensors", std::string("\x80\x02}q\x00.", 6)), Refuses(kInvalid, HasSubstr("a pickle")));
  EXPECT_THAT(refused("text.safetensors", "hello, world"), Refuses(kInvalid, HasSubstr("is no safetensors file")));
  EXPECT_EQ(ReadForeignWeights(folder.path() / "absent.safetensors").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ReadForeignWeights(folder.path()).status(),
              Refuses(absl::StatusCode::kNotFound, HasSubstr("is a folder without model.safetensors, ")));
  folder.Write("clip/open_clip_pytorch_model.bin", "PK");
  EXPECT_THAT(ReadForeignWeights(folder.path() / "clip").status(), Refuses(kInvalid, HasSubstr("is a pickle")));
  EXPECT_THAT(ReadForeignWeights(std::filesystem::path("/dev/null")).status(),
              Refuses(kInvalid, HasSubstr("not a file")));
}

TEST(ReadForeignWeights, ReadsThroughLinks) {
  const ScratchFolder folder{FastParent()};
  const Tensors written = {{"a", HashedTensor({2, 3}, 1)}};
  WriteFile(folder.path() / "blob", *WriteSafetensors({Stored(written), {}}));
  std::filesystem::create_symlink("blob", folder.path() / "model.safetensors");
  const absl::StatusOr<TensorMap> read = ReadForeignWeights(folder.path() / "model.safetensors");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(TensorOf(read->at("a")).equal(written.at("a")));
}

}  // namespace
}  // namespace vitrine
