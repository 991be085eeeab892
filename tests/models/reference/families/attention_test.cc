// SPDX-License-Identifier: Apache-2.0
// Tests features of attention that no comparison with independent implementations covers.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include <map>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/attention/cross_covariance_attention.h"
#include "models/reference/operators/fourier_positions.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::RandomImage;

std::map<std::string, at::Tensor> TensorsOf(const Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const NamedTensor& parameter : module.Parameters()) tensors[parameter.name] = parameter.tensor;
  for (const NamedTensor& buffer : module.Buffers()) tensors[buffer.name] = buffer.tensor;
  return tensors;
}

void ExpectStartsWith(const at::Tensor& row, int first, std::vector<float> values) {
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(row[first + i].item<float>(), values[i], 1e-6);
}

TEST(FourierFeatures, EqualThoseOfThePublishedCode) {
  const at::Tensor features = FourierFeatures(14);
  ASSERT_EQ(features.sizes(), at::IntArrayRef({14, 32}));
  ExpectStartsWith(features[0], 0, {0.433884F, 0.900969F, 0.249708F, 0.968321F});
  ExpectStartsWith(features[3], 0, {0.974928F, -0.222521F, 0.846573F, 0.532273F});
  ExpectStartsWith(features[7], 0, {-0.433884F, -0.900969F, 0.901216F, -0.433370F});
}

TEST(FourierFeatures, RowsComeBeforeColumns) {
  const at::Tensor table = FourierFeaturesOf({14, 14});
  ExpectStartsWith(table[3 * 14 + 7], 0, {0.974928F, -0.222521F, 0.846573F, 0.532273F});
  ExpectStartsWith(table[3 * 14 + 7], 32, {-0.433884F, -0.900969F, 0.901216F, -0.433370F});
  EXPECT_EQ(Difference(FourierFeaturesOf({2, 5})[7], at::cat({FourierFeatures(2)[1], FourierFeatures(5)[2]})), 0);
}

TEST(AttendChannels, ChannelsOfZerosGiveFiniteResults) {
  const auto layout = TokenLayout::Make({{3, 5}, {4, 2}}, 0);
  const at::Tensor zeros = Hashed({23, 24}, 1) * 0;
  const at::Tensor y = AttendChannels({zeros, Hashed({23, 24}, 2), Hashed({23, 24}, 3)}, Hashed({3, 1, 1}, 4), layout,
                                      0, 0, ForwardContext());
  EXPECT_TRUE(y.isfinite().all().item<bool>());
}

const std::string kFSne = "embedding: F_SNE embedding_width: 20 code_length: 5";

std::unique_ptr<Model> SmallXcit(const std::string& more) {
  return testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } xcit { patch: 8 width: "
      "24 depth: 2 class_depth: 2 heads: 3 mlp_width: 30 " +
      more + " }"));
}

// If all codes are equal, the gradient of the model's shared codes is the sum of the gradients of the blocks' codes.
TEST(FSne, TheGradientOfASharedCodeSumsOverBlocks) {
  const auto shared = SmallXcit(kFSne), own = SmallXcit(kFSne + " codes_per_block: true");
  {
    const at::NoGradGuard no_grad;
    auto from = TensorsOf(*shared), to = TensorsOf(*own);
    for (auto& [name, tensor] : to) {
      tensor.copy_(name.find("codes") == std::string::npos ? from.at(name) : from.at("codes"));
    }
  }
  const ImageBatch images{RandomImage(3, 24, 40, 1), RandomImage(3, 16, 16, 2)};
  const at::Tensor direction = Hashed({2, 5}, 3);
  for (Model* model : {shared.get(), own.get()}) {
    model->RequireGrad(true);
    (model->Forward(images, {}) * direction).sum().backward();
  }
  auto of_blocks = TensorsOf(*own);
  const at::Tensor sum =
      of_blocks.at("blocks.0.attention.qkv.codes").grad() + of_blocks.at("blocks.1.attention.qkv.codes").grad();
  const at::Tensor whole = TensorsOf(*shared).at("codes").grad();
  EXPECT_LT(Difference(whole, sum), 1e-4 * whole.abs().max().item<double>());
  EXPECT_GT(whole.abs().max().item<double>(), 1e-4);
}

TEST(KvPos, TapsHaveTheSymmetricPartAndKeyOffsets) {
  AttentionTap tap;
  tap.Request(0, AttentionSource::kTokens, 1);
  const std::unique_ptr<Model> model = testing::MakeHashed(FindVariant("kv-pos-mnist-p7-d64-l2")->config);
  ASSERT_TRUE(RunModel(*model, {RandomImage(1, 28, 28, 3)}, &tap).ok());
  const AttentionTap::Matrices& found = *tap.Find(0, AttentionSource::kTokens, 1);
  const at::Tensor scores = TensorOf(found.scores);
  EXPECT_LT(Difference(scores, scores.transpose(1, 2)), 1e-5);
  // The difference log(weight) - score is a term of the key minus a term of the query. Therefore differences along a
  // row are the same in all rows and heads.
  const at::Tensor offsets = TensorOf(found.weights).log() - scores;
  const at::Tensor differences = offsets - offsets.narrow(2, 0, 1);
  EXPECT_LT(Difference(differences, differences.narrow(0, 0, 1).narrow(1, 0, 1)), 1e-4);
  EXPECT_GT(differences.abs().max().item<double>(), 1e-2);
}

const std::string kXvit =
    "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } xvit { patch: 8 width: "
    "24 "
    "depth: 2 class_depth: 2 heads: 3 attention_width: 12 mlp_width: 30 ";

// Token attention runs before the class token is added. Therefore the maps of token attention have no class row with
// any mixer.
TEST(XVit, EveryMixerOffersItsAttentionMaps) {
  const auto ability = [](const std::string& change) {
    return testing::MakeHashed(testing::Config(kXvit + change + " }"))->attention();
  };
  const AttentionAbility softmax = ability("mixer: SOFTMAX"), channels = ability("mixer: XCA");
  EXPECT_FALSE(softmax.diverging);
  EXPECT_EQ(softmax.prefix_tokens, 0);
  EXPECT_EQ(softmax.Find(v1::CLASS_TOKEN_ROW), nullptr);
  EXPECT_NE(softmax.Find(v1::WEIGHTS), nullptr);
  EXPECT_EQ(channels.Find(v1::WEIGHTS), nullptr);
  EXPECT_EQ(channels.channels, 4);
  for (const AttentionAbility& each : {softmax, channels}) {
    ASSERT_NE(each.Find(v1::CLASS_ATTENTION), nullptr);
    EXPECT_EQ(each.Find(v1::CLASS_ATTENTION)->layers, 2);
  }
  EXPECT_TRUE(ability("mixer: NONE").diverging);
  EXPECT_NE(ability("mixer: NONE").Find(v1::QUERY_ROW), nullptr);
}

}  // namespace
}  // namespace vitrine
