// SPDX-License-Identifier: Apache-2.0
// Tests foreign weights in the forms that users have: with prefixes, with copies of the model, in shards, with newer
// names.
#include <gmock/gmock.h>

#include <cstring>

#include "absl/strings/str_replace.h"
#include "models/repository/foreign/import.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TensorMap Small() {
  return Stored(TimmVitWeights(kSmallVit));
}

TensorMap Renamed(const TensorMap& tensors, const std::function<std::string(const std::string&)>& rename) {
  TensorMap renamed;
  for (const auto& [name, tensor] : tensors) renamed[rename(name)] = tensor;
  return renamed;
}

TensorMap Behind(const std::string& prefix, const TensorMap& tensors) {
  return Renamed(tensors, [&](const std::string& name) { return prefix + name; });
}

std::vector<std::string> Names(const TensorMap& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

bool Same(const TensorMap& a, const TensorMap& b) {
  return Names(a) == Names(b) && std::all_of(a.begin(), a.end(), [&](const auto& named) {
           const StoredTensor& other = b.at(named.first);
           return other.shape == named.second.shape &&
                  std::memcmp(other.data.get(), named.second.data.get(), static_cast<size_t>(other.bytes())) == 0;
         });
}

TEST(UnwrapForeign, RemovesACommonPrefixOfAllNames) {
  const TensorMap huggingface = Stored(HuggingFaceVitWeights(kSmallVit));
  for (const char* prefix : {"module.", "model.", "net.", "backbone.", "ema_model.", "state_dict.", "state_dict.model.",
                             "model_ema.module.", "state_dict_ema.", "online_model.", "student.module.backbone."}) {
    for (const TensorMap& plain : {Small(), huggingface}) {
      const auto unwrapped = UnwrapForeign(Behind(prefix, plain));
      ASSERT_TRUE(unwrapped.ok()) << unwrapped.status();
      EXPECT_EQ(unwrapped->prefix, prefix);
      EXPECT_THAT(unwrapped->outside, IsEmpty());
      EXPECT_TRUE(Same(unwrapped->tensors, plain)) << prefix;
    }
  }
}

TEST(UnwrapForeign, RemovesWrappersWithinNames) {
  const auto compiled = [](const std::string& name) {
    return "module._orig_mod." + absl::StrReplaceAll(name, {{"blocks.1.", "blocks.1._orig_mod."}});
  };
  EXPECT_TRUE(Same(UnwrapForeign(Renamed(Small(), compiled))->tensors, Small()));
  const auto sharded = [](const std::string& name) {
    return "_fsdp_wrapped_module." + absl::StrReplaceAll(name, {{"blocks.0.", "blocks.0._checkpoint_wrapped_module."}});
  };
  EXPECT_TRUE(Same(UnwrapForeign(Renamed(Small(), sharded))->tensors, Small()));
  TensorMap both = Small();
  both.merge(Behind("_orig_mod.", Small()));
  EXPECT_THAT(UnwrapForeign(both).status(),
              Refuses(absl::StatusCode::kFailedPrecondition, HasSubstr("twice, with and without")));
}

TEST(UnwrapForeign, ReportsAndIgnoresTensorsOutsideTheModel) {
  TensorMap tensors = Behind("model.", Small());
  tensors["criterion.weight"] = tensors["model.head.bias"];
  tensors["n_averaged"] = tensors["model.head.bias"];
  const auto unwrapped = UnwrapForeign(tensors);
  EXPECT_TRUE(Same(unwrapped->tensors, Small()));
  EXPECT_THAT(Names(unwrapped->outside), ElementsAre("criterion.weight", "n_averaged"));
  // If the model's tensors have no prefix, such as "model.", UnwrapForeign cannot distinguish them from other
  // tensors and keeps all tensors.
  tensors = Small();
  tensors["head_dist.bias"] = tensors["head.bias"];
  EXPECT_TRUE(UnwrapForeign(tensors)->tensors.contains("head_dist.bias"));
}

TEST(UnwrapForeign, ChoosesTheAverageOrTheRequestedCopy) {
  TensorMap tensors = Behind("model.", Small());
  TensorMap other = Small();
  other["head.bias"] = Stored({{"b", HashedTensor({5}, 99)}})["b"];
  for (const char* average :
       {"model_ema.", "ema_model.module.", "state_dict_ema.", "averaged_model.module.", "model.ema."}) {
    TensorMap copies = tensors;
    copies.merge(Behind(average, other));
    const auto chosen = UnwrapForeign(copies);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(chosen->prefix, average);
    EXPECT_THAT(chosen->others, ElementsAre("model."));
    EXPECT_TRUE(Same(chosen->tensors, other));
    EXPECT_TRUE(Same(UnwrapForeign(copies, "model.")->tensors, Small())) << average;
    EXPECT_THAT(UnwrapForeign(copies, "net.").status(),
                Refuses(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("net."), HasSubstr("\"model.\""))));
  }
  TensorMap bare = Small();
  bare.merge(Behind("ema.", other));
  EXPECT_TRUE(Same(UnwrapForeign(bare)->tensors, other));
  EXPECT_TRUE(Same(UnwrapForeign(bare, "")->tensors, Small()));
  TensorMap alike = Behind("student.", Small());
  alike.merge(Behind("teacher.", other));
  EXPECT_THAT(UnwrapForeign(alike).status(),
              Refuses(absl::StatusCode::kFailedPrecondition,
                      AllOf(HasSubstr("2 copies"), HasSubstr("\"student.\", \"teacher.\""), HasSubstr("--prefix"))));
}

TEST(UnwrapForeign, LeavesOtherTensorsUnchanged) {
  EXPECT_THAT(Names(UnwrapForeign(Stored({{"module.a", HashedTensor({2}, 1)}}))->tensors), ElementsAre("module.a"));
  EXPECT_TRUE(UnwrapForeign({})->tensors.empty());
}

TEST(RenameForeign, AcceptsTheNewNamesOfTransformers) {
  const v1::ModelConfig config = SmallVit(ForeignSource::kHuggingFace);
  const TensorMap before = Stored(HuggingFaceVitWeights(kSmallVit));
  const TensorMap later = Renamed(before, [](const std::string& name) {
    return absl::StrReplaceAll(name, {{"vit.encoder.layer.", "vit.layers."},
                                      {"attention.attention.query", "attention.q_proj"},
                                      {"attention.attention.key", "attention.k_proj"},
                                      {"attention.attention.value", "attention.v_proj"},
                                      {"attention.output.dense", "attention.o_proj"},
                                      {"intermediate.dense", "mlp.fc1"},
                                      {"output.dense", "mlp.fc2"}});
  });
  ASSERT_TRUE(later.contains("vit.layers.1.attention.q_proj.weight") && later.contains("vit.layers.0.mlp.fc2.bias"));
  const auto renamed = RenameForeign(ForeignSource::kHuggingFace, config, later);
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_TRUE(Same(*renamed, *RenameForeign(ForeignSource::kHuggingFace, config, before)));
  TensorMap lacks = later;
  lacks.erase("vit.layers.1.attention.k_proj.bias");
  EXPECT_THAT(
      RenameForeign(ForeignSource::kHuggingFace, config, lacks).status(),
      Refuses(absl::StatusCode::kFailedPrecondition, HasSubstr("\"vit.layers.1.attention.k_proj.bias\" is missing")));
}

class Shards : public testing::Test {
 protected:
  void Write(const std::string& name, const TensorMap& tensors) {
    WriteFile(folder_.path() / name, *WriteSafetensors({tensors, {}}));
  }
  // Writes the tensors alternately to two files.
  void WriteTwo(const std::string& first, const std::string& second) {
    TensorMap halves[2];
    size_t i = 0;
    for (const auto& [name, tensor] : Small()) halves[i++ % 2][name] = tensor;
    Write(first, halves[0]);
    Write(second, halves[1]);
  }
  absl::StatusOr<TensorMap> Read(const std::string& name) const { return ReadForeignWeights(folder_.path() / name); }

  const ScratchFolder folder_{FastParent()};
};

TEST_F(Shards, AreReadByOneShardIndexOrFolder) {
  WriteTwo("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
  WriteFile(folder_.path() / "model.safetensors.index.json",
            R"({"metadata": {"total_size": 1}, "weight_map": {"cls_token": "model-00001-of-00002.safetensors",
                "head.bias": "model-00002-of-00002.safetensors"}})");
  std::filesystem::copy_file(folder_.path() / "model.safetensors.index.json",
                             folder_.path() / "model.safetensors.index.fp16.json");
  for (const char* name : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                           "model.safetensors.index.json", "model.safetensors.index.fp16.json", ""}) {
    const absl::StatusOr<TensorMap> read = Read(name);
    ASSERT_TRUE(read.ok()) << name << read.status();
    EXPECT_TRUE(Same(*read, Small())) << name;
  }
}

TEST_F(Shards, AMissingShardIsNamed) {
  WriteTwo("vit-00001-of-00003.safetensors", "vit-00002-of-00003.safetensors");
  EXPECT_THAT(Read("vit-00002-of-00003.safetensors").status(),
              Refuses(absl::StatusCode::kNotFound,
                      AllOf(HasSubstr("is shard 2 of 3"),
                            HasSubstr("\"vit-00003-of-00003.safetensors\" is missing beside it"))));
  WriteFile(folder_.path() / "i.index.json", R"({"weight_map": {"a": "gone.safetensors"}})");
  EXPECT_THAT(
      Read("i.index.json").status(),
      Refuses(absl::StatusCode::kNotFound, AllOf(HasSubstr("index of 1 shards"), HasSubstr("\"gone.safetensors\""))));
}

TEST_F(Shards, AnInvalidIndexIsRefused) {
  for (const char* json :
       {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": {"a": "../b.safetensors"}})", R"({"weight_map": {"a": "/etc/passwd"}})"}) {
    WriteFile(folder_.path() / "i.index.json", json);
    EXPECT_THAT(Read("i.index.json").status(), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr("no index")))
        << json;
  }
  WriteFile(folder_.path() / "config.json", R"({"architectures": []})");
  EXPECT_THAT(Read("config.json").status(), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr("no index")));
  WriteFile(folder_.path() / "p.index.json", R"({"weight_map": {"a": "pytorch_model-00001-of-00002.bin"}})");
  WriteFile(folder_.path() / "pytorch_model-00001-of-00002.bin", "");
  EXPECT_THAT(Read("p.index.json").status(), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr("is a pickle")));
}

TEST_F(Shards, ATensorInTwoShardsIsRefused) {
  Write("m-1-of-2.safetensors", Small());
  Write("m-2-of-2.safetensors", Small());
  EXPECT_THAT(Read("m-1-of-2.safetensors").status(),
              Refuses(absl::StatusCode::kFailedPrecondition, HasSubstr("and another shard")));
}

}  // namespace
}  // namespace vitrine
