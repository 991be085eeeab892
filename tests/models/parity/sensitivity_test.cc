// SPDX-License-Identifier: Apache-2.0
// Tests that the comparison with the goldens can fail: models with one mistake are far from the goldens.
#include <ATen/TensorOperators.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <regex>

#include "models/reference/checkpoint/stored_tensors.h"
#include "tests/models/parity/parity_fixture.h"

namespace vitrine::testing {
namespace {

constexpr double kFarOff = 100 * kTolerance;

class Sensitivity : public Parity {
 protected:
  double CentredLogitsOff(const Safetensors& weights) const {
    const std::unique_ptr<Model> model = golden_.Build(weights);
    return Off(Centred(Observed(*model, Mixed()).at("logits")), Centred(golden_.recorded().at("logits")));
  }
  // Returns the largest deviation from any recorded tensor.
  double LargestOff(const Model& model) const {
    const std::map<std::string, at::Tensor> observed = Observed(model, Mixed());
    double largest = 0;
    for (const auto& [name, expected] : golden_.recorded())
      largest = std::max(largest, Off(observed.at(name), expected));
    return largest;
  }
};

// Returns the models with at most so many weights.
std::vector<std::string> CasesUpTo(int64_t weights) {
  std::vector<std::string> names = GoldenCase::All();
  std::erase_if(names, [&](const std::string& name) { return GoldenCase(name).weight_count() > weights; });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Goldens, Sensitivity, ::testing::ValuesIn(CasesUpTo(4'000'000)), ParityTestName);

TEST_P(Sensitivity, TwoBlocksSwappedAreSeen) {
  Safetensors weights = golden_.Weights();
  // Names of the libraries: "blocks.0.norm1.weight", "visual.transformer.resblocks.0.ln_1.weight",
  // "encoder.layer.0...".
  const std::regex first("^((?:.*\\.)?(?:res)?(?:blocks|layers?))\\.0\\.");
  int swapped = 0;
  for (auto& [name, tensor] : weights.tensors) {
    if (!std::regex_search(name, first)) continue;
    const auto other = weights.tensors.find(std::regex_replace(name, first, "$1.1."));
    // EIT's blocks differ in the shape of their attention; only tensors with a counterpart of equal shape are swapped.
    if (other == weights.tensors.end() || other->second.shape != tensor.shape) continue;
    std::swap(tensor, other->second);
    ++swapped;
  }
  EXPECT_GT(swapped, 5);
  EXPECT_GT(CentredLogitsOff(weights), kFarOff);
}

TEST_P(Sensitivity, LogitsDependOnTheImage) {
  const at::Tensor logits = golden_.recorded().at("logits");
  EXPECT_GT(Off(logits[0], logits[1]), kFarOff);
}

class SmallSensitivity : public Sensitivity {};  // one run for each tensor
INSTANTIATE_TEST_SUITE_P(Goldens, SmallSensitivity, ::testing::ValuesIn(CasesUpTo(200'000)), ParityTestName);

TEST_P(SmallSensitivity, EveryTensorShows) {
  const std::unique_ptr<Model> model = golden_.Build(golden_.Weights());
  std::vector<NamedTensor> tensors = model->Parameters();
  for (NamedTensor& buffer : model->Buffers()) tensors.push_back(std::move(buffer));
  for (NamedTensor& changed : tensors) {
    // These biases add the same value to every score of a softmax row, so they have no effect.
    if (changed.name.find("map_pos.bias") != std::string::npos ||
        (changed.name.rfind("class_blocks.", 0) == 0 && changed.name.find(".attention.k.bias") != std::string::npos)) {
      continue;
    }
    const at::Tensor saved = changed.tensor.clone();
    changed.tensor.copy_(saved.flatten().flip(0).view_as(saved));
    EXPECT_GT(LargestOff(*model), 10 * kTolerance) << changed.name << " with its values in reverse";
    changed.tensor.copy_(saved);
  }
}

// Change of a config that keeps the shape of every tensor.
struct ConfigChange {
  std::string golden;
  std::string change;  // merged into the config
};

class ChangedConfig : public ::testing::TestWithParam<ConfigChange> {};

INSTANTIATE_TEST_SUITE_P(Goldens, ChangedConfig,
                         ::testing::Values(ConfigChange{"timm-xcit_nano_12_p16_224", "xcit { tokens_norm: true }"},
                                           ConfigChange{"timm-vit_tiny_patch16_224", "vit { norm_epsilon: 1e-5 }"},
                                           ConfigChange{"timm-vit_tiny_patch16_224", "vit { heads: 6 }"},
                                           ConfigChange{"xvit-contracted", "xvit { norm_axis: LAST }"},
                                           ConfigChange{"xvit-last", "xvit { norm_axis: CONTRACTED }"},
                                           ConfigChange{"xvit-contracted", "xvit { mixer: NONE }"},
                                           ConfigChange{"kv-qkv", "kv { score_scale: HEAD_WIDTH }"},
                                           ConfigChange{"kv-pos-odd", "kv { score_scale: FULL_WIDTH }"},
                                           ConfigChange{"eit-p-only", "eit { heads: 8 }"}));

TEST_P(ChangedConfig, IsSeen) {
  const GoldenCase golden(GetParam().golden);
  v1::ModelConfig config = golden.config(), change;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().change, &change));
  config.MergeFrom(change);
  const std::unique_ptr<Model> model = golden.Build(golden.Weights(), config);
  const absl::StatusOr<at::Tensor> logits = RunModel(*model, golden.images());
  ASSERT_TRUE(logits.ok()) << logits.status();
  EXPECT_GT(Off(*logits, golden.recorded().at("logits")), 1.5 * kTolerance) << GetParam().golden << GetParam().change;
}

std::vector<std::string> CasesWithLocalInteraction() {
  std::vector<std::string> names = CasesUpTo(4'000'000);
  std::erase_if(names, [](const std::string& name) {
    const v1::ModelConfig config = GoldenCase(name).config();
    return !config.has_xcit() && (!config.has_xvit() || config.xvit().local() == v1::XVitConfig::DEPTHWISE);
  });
  return names;
}

class LocalInteraction : public Sensitivity {};
INSTANTIATE_TEST_SUITE_P(Goldens, LocalInteraction, ::testing::ValuesIn(CasesWithLocalInteraction()), ParityTestName);

TEST_P(LocalInteraction, IsMissedWhereItIsDropped) {
  Safetensors weights = golden_.Weights();
  int zeroed = 0;
  for (auto& [name, tensor] : weights.tensors) {
    // The name of the second convolution, in timm and in our models.
    if (name.rfind("blocks.1.local_mp.conv2.", 0) != 0 && name.rfind("blocks.1.local.convolutions.1.", 0) != 0)
      continue;
    TensorOf(tensor).zero_();
    ++zeroed;
  }
  EXPECT_EQ(zeroed, 2);  // weight and bias
  EXPECT_GT(CentredLogitsOff(weights), kFarOff);
}

}  // namespace
}  // namespace vitrine::testing
