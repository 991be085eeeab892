// SPDX-License-Identifier: Apache-2.0
// Tests the error messages for unsuitable foreign weights: files in other formats, heads with other names, and tensors
// of another architecture.
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "absl/strings/str_replace.h"
#include "models/repository/foreign/import.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr VitSizes kTiny = {.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 2};

std::string Refusal(const std::string& name, const std::string& bytes) {
  const ScratchFolder folder{FastParent()};
  WriteFile(folder.path() / name, bytes);
  return std::string(ReadForeignWeights(folder.path() / name).status().message());
}

TEST(ForeignFile, ErrorsNameOtherFormatsAndTheRemedy) {
  const std::string zeros(64, '\0');
  EXPECT_THAT(Refusal("w.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n"),
              AllOf(HasSubstr("\"w.safetensors\" is a Git LFS pointer"), HasSubstr("`git lfs pull`")));
  EXPECT_THAT(Refusal("w.safetensors", "\n<!DOCTYPE html><html>"), HasSubstr("is a web page"));
  EXPECT_THAT(Refusal("w.safetensors", "<HTML><body>"), HasSubstr("is a web page"));
  EXPECT_THAT(Refusal("w.h5", "\x89HDF\r\n\x1a\n" + zeros), AllOf(HasSubstr("HDF5"), HasSubstr("save_file")));
  EXPECT_THAT(Refusal("w.safetensors", "GGUF\x03" + zeros), HasSubstr("GGUF"));
  EXPECT_THAT(Refusal("w.bytes", std::string("\x08\x07\x12\x07pytorch") + zeros), HasSubstr("ONNX"));
  EXPECT_THAT(Refusal("w.npz", "PK\x03\x04" + zeros), HasSubstr("NumPy archive"));
  EXPECT_THAT(Refusal("w.msgpack", "\x82" + zeros), HasSubstr("Flax"));
  EXPECT_THAT(Refusal("w.safetensors.gz", "\x1f\x8b\x08" + zeros), HasSubstr("gunzip"));
  EXPECT_THAT(Refusal("w.safetensors", ""), HasSubstr("is empty"));
}

// Returns a file with one tensor "w" of one element.
std::string FileOf(const std::string& dtype, size_t bytes) {
  std::string header =
      R"({"w":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(bytes, '\0');
}

TEST(ForeignFile, OtherElementTypesAreNotReportedAsDamage) {
  EXPECT_THAT(Refusal("w.safetensors", FileOf("F64", 8)),
              AllOf(HasSubstr("tensor \"w\" is stored as F64"), HasSubstr(".float()")));
  for (const auto& [dtype, bytes] : {std::pair("I32", 4), {"BOOL", 1}, {"I8", 1}}) {
    EXPECT_THAT(Refusal("w.safetensors", FileOf(dtype, bytes)),
                AllOf(HasSubstr("tensor \"w\" is stored as " + std::string(dtype)),
                      HasSubstr("the model has no tensor of this type: leave it out")));
  }
  EXPECT_THAT(Refusal("w.safetensors", FileOf("X9", 8)), HasSubstr("is no safetensors file, or is damaged"));
}

// The file starts with the length of its header: 640, stored as the bytes 80 02. A pickle starts with the same bytes.
TEST(ForeignFile, AHeaderOfAnyLengthIsRead) {
  std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  header.resize(640, ' ');
  std::string file(8, '\0');
  file[0] = '\x80';
  file[1] = '\x02';
  EXPECT_EQ(Refusal("w.safetensors", file + header + std::string(4, '\0')), "");
}

TensorMap Renamed(const TensorMap& tensors, const std::string& from, const std::string& to) {
  TensorMap renamed;
  for (const auto& [name, tensor] : tensors) renamed[absl::StrReplaceAll(name, {{from, to}})] = tensor;
  return renamed;
}

class HeadAdoption : public testing::Test {
 protected:
  absl::StatusOr<std::string> Adopt(const TensorMap& tensors) {
    weights_ = *UnwrapForeign(tensors);
    return AdoptHead(ForeignSource::kTimm, *ForeignConfig(ForeignSource::kTimm, "vit_tiny_patch16_224", 1), weights_);
  }
  static TensorMap Zeros(const std::string& name, at::IntArrayRef shape) { return Stored({{name, at::zeros(shape)}}); }

  const TensorMap tiny_ = Stored(TimmVitWeights(kTiny));
  UnwrappedWeights weights_;
};

TEST_F(HeadAdoption, AcceptsUsualNames) {
  EXPECT_EQ(*Adopt(tiny_), "");
  for (const char* name : {"fc", "classifier", "head.fc", "heads.head"}) {
    const auto adopted = Adopt(Renamed(tiny_, "head", name));
    ASSERT_TRUE(adopted.ok()) << adopted.status();
    EXPECT_EQ(*adopted, name);
    EXPECT_TRUE(weights_.tensors.contains("head.weight") && weights_.tensors.contains("head.bias"));
    EXPECT_EQ(weights_.tensors.size(), tiny_.size());
  }
}

TEST_F(HeadAdoption, AcceptsAHeadOutsideTheBodysPrefix) {
  for (const std::string name : {"fc", "head"}) {
    TensorMap tensors;
    for (const auto& [own, tensor] : tiny_) {
      tensors[own.starts_with("head") ? absl::StrReplaceAll(own, {{"head", name}}) : "backbone." + own] = tensor;
    }
    const auto adopted = Adopt(tensors);
    ASSERT_TRUE(adopted.ok()) << adopted.status();
    EXPECT_EQ(*adopted, name);
    EXPECT_TRUE(weights_.outside.empty());
    tensors.merge(Zeros("norm_before_head.weight", {192}));
    EXPECT_THAT(Adopt(tensors).status(), Refuses(kRefused, HasSubstr("may be it")));
  }
}

TEST_F(HeadAdoption, RemovesTheHeadOfAModelWithoutClasses) {
  const v1::ModelConfig config = *ForeignConfig(ForeignSource::kTimm, "vit_tiny_patch16_224", 0);
  for (const std::string name : {"head", "head.1", ""}) {  // "head.1" may be another layer and is not adopted
    TensorMap tensors;
    for (const auto& [own, tensor] : tiny_) {
      if (!own.starts_with("head")) tensors["backbone." + own] = tensor;
      if (own.starts_with("head") && !name.empty()) tensors[absl::StrReplaceAll(own, {{"head", name}})] = tensor;
    }
    UnwrappedWeights weights = *UnwrapForeign(std::move(tensors));
    EXPECT_EQ(*AdoptHead(ForeignSource::kTimm, config, weights), name == "head" ? "head" : "");
    EXPECT_EQ(weights.tensors.contains("head.weight"), name == "head");
  }
}

TEST_F(HeadAdoption, NamesAnUncertainHeadInTheError) {
  EXPECT_THAT(Adopt(Renamed(tiny_, "head", "head.1")).status(),
              Refuses(kRefused, AllOf(HasSubstr("\"head.weight\" is missing; \"head.1.weight\" may be it"),
                                      HasSubstr("dropout"))));
  TensorMap two = Renamed(tiny_, "head", "fc");
  two.merge(Stored({{"aux.weight", at::zeros({5, 192})}, {"aux.bias", at::zeros({5})}}));
  EXPECT_THAT(Adopt(two).status(), Refuses(kRefused, HasSubstr("\"aux.weight\" or \"fc.weight\"")));
}

TEST_F(HeadAdoption, ReportsAMissingHead) {
  TensorMap body = tiny_;
  body.erase("head.weight");
  body.erase("head.bias");
  EXPECT_THAT(Adopt(body).status(), Refuses(kRefused, HasSubstr("the file has no classifier")));
  body.erase("blocks.3.norm1.bias");
  EXPECT_EQ(*Adopt(body), "") << "RenameForeign names the missing tensor";
}

absl::Status Rename(const TensorMap& tensors, const std::string& arch) {
  return RenameForeign(ForeignSource::kTimm, *ForeignConfig(ForeignSource::kTimm, arch, 2), tensors).status();
}

TEST(OtherArchitecture, IsIdentifiedByItsShapes) {
  const TensorMap tiny = Stored(TimmVitWeights(kTiny));
  EXPECT_THAT(Rename(tiny, "vit_small_patch16_224"),
              Refuses(kRefused, HasSubstr("the shapes of --arch deit_tiny_patch16_224 or vit_tiny_patch16_224")));
  EXPECT_THAT(Rename(tiny, "vit_tiny_patch16_384"), Refuses(kRefused, HasSubstr("or vit_tiny_patch16_224")));
  const TensorMap xcit = Stored(TimmXcitWeights(128, 12, 4, 16, 2));
  EXPECT_THAT(Rename(xcit, "xcit_nano_12_p8_224"), Refuses(kRefused, HasSubstr("xcit_nano_12_p16_224")));
  TensorMap extra = tiny;
  extra["extra.bias"] = tiny.at("norm.bias");
  EXPECT_THAT(Rename(extra, "vit_tiny_patch16_224"), Refuses(kRefused, testing::Not(HasSubstr("--arch"))));
}

TEST(OtherNames, AreRecognizedForTorchvisionAndAveragedTokens) {
  const TensorMap tiny = Stored(TimmVitWeights(kTiny));
  TensorMap torchvision;
  torchvision["conv_proj.weight"] = torchvision["encoder.pos_embedding"] = tiny.at("norm.bias");
  EXPECT_THAT(Rename(torchvision, "vit_tiny_patch16_224"), Refuses(kRefused, HasSubstr("torchvision's")));
  TensorMap averaged = tiny;
  for (const char* part : {"weight", "bias"}) {
    auto norm = averaged.extract(std::string("norm.") + part);
    norm.key() = std::string("fc_norm.") + part;
    averaged.insert(std::move(norm));
  }
  EXPECT_THAT(Rename(averaged, "vit_tiny_patch16_224"), Refuses(kRefused, HasSubstr("global_pool")));
}

}  // namespace
}  // namespace vitrine
