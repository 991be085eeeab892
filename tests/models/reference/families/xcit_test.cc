// SPDX-License-Identifier: Apache-2.0
// Tests XCiT's identities: positions, embeddings of q, k and v, cross-covariance attention, class attention.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <map>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/attention/cross_covariance_attention.h"
#include "models/reference/operators/convolution/depthwise_convolution.h"
#include "models/reference/operators/fourier_positions.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::RandomImage;

constexpr int kXcitWidth = 24;
constexpr int kXcitHeads = 3;

std::map<std::string, at::Tensor> TensorsOf(const Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const NamedTensor& parameter : module.Parameters()) tensors[parameter.name] = parameter.tensor;
  for (const NamedTensor& buffer : module.Buffers()) tensors[buffer.name] = buffer.tensor;
  return tensors;
}

void ExpectStartsWith(const at::Tensor& row, int first, std::vector<float> values) {
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(row[first + i].item<float>(), values[i], 1e-6);
}

TEST(FourierFeatures, AreThoseOfThePublishedCode) {
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

class Xca : public ::testing::Test {
 protected:
  at::Tensor Run(const at::Tensor& x, AttentionTap* tap = nullptr) const {
    ForwardContext context;
    context.tap = tap;
    const at::Tensor qkv = x.matmul(weight_.t()) + bias_;
    const std::vector<at::Tensor> parts = qkv.split(kXcitWidth, 1);
    return AttendChannels({parts[0], parts[1], parts[2]}, temperature_, layout_, 0, 0, context);
  }

  const std::shared_ptr<const TokenLayout> layout_ = TokenLayout::Make({{3, 5}, {4, 2}}, 0);
  const at::Tensor x_ = Hashed({23, kXcitWidth}, 4);
  const at::Tensor weight_ = Hashed({3 * kXcitWidth, kXcitWidth}, 5) * 0.3, bias_ = Hashed({3 * kXcitWidth}, 6) * 0.3;
  const at::Tensor temperature_ = Hashed({kXcitHeads, 1, 1}, 7) + 2;
};

TEST_F(Xca, RowsOfTheMapSumToOne) {
  AttentionTap tap;
  tap.Request(1, AttentionSource::kChannels, 0);
  Run(x_, &tap);
  EXPECT_EQ(tap.Find(0, AttentionSource::kChannels, 0), nullptr);
  const AttentionTap::Matrices* matrices = tap.Find(1, AttentionSource::kChannels, 0);
  ASSERT_NE(matrices, nullptr);
  const at::Tensor weights = TensorOf(matrices->weights), scores = TensorOf(matrices->scores);
  ASSERT_EQ(weights.sizes(), at::IntArrayRef({kXcitHeads, kXcitWidth / kXcitHeads, kXcitWidth / kXcitHeads}));
  EXPECT_LT((weights.sum(-1) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_LT(Difference(scores.softmax(-1), weights), 1e-6);
  // Scores are cosines times the temperature.
  EXPECT_LT((scores.abs() - temperature_).max().item<double>(), 1e-5);
}

TEST_F(Xca, TheScaleOfAChannelOfQOrKDoesNotMatter) {
  const at::NoGradGuard no_grad;
  const at::Tensor before = Run(x_);
  for (const int row : {5, kXcitWidth + 7}) {  // a channel of q, a channel of k
    weight_[row].mul_(3.5);
    bias_[row].mul_(3.5);
    EXPECT_LT(Difference(Run(x_), before), 1e-5);
  }
  weight_[2 * kXcitWidth + 7].mul_(3.5);  // a channel of v
  EXPECT_GT(Difference(Run(x_), before), 1e-2);
}

TEST_F(Xca, PermutingTokensCommutesWithItButNotWithLocalConvolution) {
  const at::Tensor permuted = at::cat({x_.narrow(0, 0, 15).flip(0), x_.narrow(0, 15, 8).roll(3, 0)});
  const auto permute = [](const at::Tensor& y) {
    return at::cat({y.narrow(0, 0, 15).flip(0), y.narrow(0, 15, 8).roll(3, 0)});
  };
  EXPECT_LT(Difference(Run(permuted), permute(Run(x_))), 1e-5);
  const at::Tensor weight = Hashed({kXcitWidth, 1, 3, 3}, 8), bias = Hashed({kXcitWidth}, 9);
  const auto convolve = [&](const at::Tensor& x) { return ConvolveDepthwise({x, layout_}, weight, bias, {}); };
  EXPECT_GT(Difference(convolve(permuted), permute(convolve(x_))), 1e-2);
}

TEST_F(Xca, ChannelsOfZerosStayFinite) {
  const at::NoGradGuard no_grad;
  weight_.slice(0, 0, kXcitWidth).zero_();
  bias_.slice(0, 0, kXcitWidth).zero_();
  EXPECT_TRUE(Run(x_).isfinite().all().item<bool>());
}

const std::string kFSne = "embedding: F_SNE embedding_width: 20 code_length: 5";

std::unique_ptr<Model> SmallXcit(const std::string& more, bool shared = true) {
  return testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } xcit { patch: 8 width: "
      "24 depth: 2 class_depth: 2 heads: 3 mlp_width: 30 " +
      more + (shared ? "" : " codes_per_block: true") + " }"));
}

// Returns the channel scores of the first block; they are symmetric if queries equal keys.
at::Tensor ScoresOf(const Model& model) {
  AttentionTap tap;
  tap.Request(0, AttentionSource::kChannels, 0);
  EXPECT_TRUE(RunModel(model, {RandomImage(3, 24, 40, 1)}, &tap).ok());
  return TensorOf(tap.Find(0, AttentionSource::kChannels, 0)->scores);
}
double Asymmetry(const at::Tensor& scores) {
  return Difference(scores, scores.transpose(1, 2));
}

TEST(FSne, EqualCodesMakeQueriesAndKeysEqual) {
  const auto model = SmallXcit(kFSne);
  const at::NoGradGuard no_grad;
  EXPECT_GT(Asymmetry(ScoresOf(*model)), 1e-3);
  auto tensors = TensorsOf(*model);
  tensors.at("codes")[1].copy_(tensors.at("codes")[0]);
  EXPECT_LT(Asymmetry(ScoresOf(*model)), 1e-5);
}

TEST(PSne, EqualFirstLayersMakeQueriesAndKeysEqual) {
  const auto model = SmallXcit("embedding: P_SNE embedding_width: 18");
  const at::NoGradGuard no_grad;
  EXPECT_GT(Asymmetry(ScoresOf(*model)), 1e-3);
  auto tensors = TensorsOf(*model);
  const std::string qkv = "blocks.0.attention.qkv.";
  tensors.at(qkv + "k.weight").copy_(tensors.at(qkv + "q.weight"));
  tensors.at(qkv + "k.bias").copy_(tensors.at(qkv + "q.bias"));
  EXPECT_LT(Asymmetry(ScoresOf(*model)), 1e-5);
}

// Checks, row by row, the table of how a class-attention block changes patch tokens.
TEST(ClassAttentionBlock, PatchRowsAreNormalisedAndDoubled) {
  const ImageBatch images{RandomImage(3, 24, 40, 1), RandomImage(3, 16, 16, 2)};
  for (const bool tokens_norm : {false, true}) {
    const auto model = SmallXcit(tokens_norm ? "tokens_norm: true" : "");
    TokenTap tap;
    for (const int stage : {1, 2, 3, TokenTap::kFinal}) tap.Request(stage);
    const at::Tensor logits = *RunModel(*model, images, nullptr, &tap);
    EXPECT_EQ(Difference(logits, *RunModel(*model, images)), 0) << "watching moved the logits";
    auto w = TensorsOf(*model);
    const auto norm = [&](const std::string& name, const at::Tensor& x) {
      return at::layer_norm(x, {24}, w.at(name + ".weight"), w.at(name + ".bias"), 1e-6);
    };
    const auto patches = [&](int stage, int image) {
      const TokenTap::Tokens& x = *tap.Find(stage);
      const TokenLayout& layout = *x.layout;
      EXPECT_EQ(x.data.shape, (std::vector<int64_t>{layout.total_tokens(), 24})) << "rows of padding";
      return TensorOf(x.data).narrow(0, layout.offset(image), layout.tokens(image)).slice(0, layout.prefix_tokens());
    };
    EXPECT_EQ(tap.Find(1)->layout->prefix_tokens(), 0);
    EXPECT_EQ(tap.Find(2)->layout->prefix_tokens(), 1);
    for (int image = 0; image < 2; ++image) {
      at::Tensor p = patches(1, image);
      for (int block = 0; block < 2; ++block) {
        const std::string name = "class_blocks." + std::to_string(block);
        p = p + w.at(name + ".attention_scale") * norm(name + ".norm", p);
        if (tokens_norm) p = norm(name + ".feed_forward.norm", p);
        p = 2 * p;
        EXPECT_LT(Difference(patches(2 + block, image), p), 1e-4 * p.abs().max().item<double>());
      }
      EXPECT_LT(Difference(patches(TokenTap::kFinal, image), norm("norm", p)), 1e-4);
      const TokenTap::Tokens& final_tokens = *tap.Find(TokenTap::kFinal);
      const at::Tensor c = TensorOf(final_tokens.data)[final_tokens.layout->offset(image)];
      EXPECT_LT(Difference(c.matmul(w.at("head.weight").t()) + w.at("head.bias"), logits[image]), 1e-4);
    }
  }
}

TEST(ClassAttentionBlock, HandsOutTheClassRowAfterTheSoftmax) {
  const auto model = SmallXcit("");
  const ImageBatch images{RandomImage(3, 24, 40, 1), RandomImage(3, 16, 16, 2)};
  AttentionTap tap;
  tap.Request(0, AttentionSource::kClassQuery, 1);
  ASSERT_TRUE(RunModel(*model, images, &tap).ok());
  const at::Tensor weights = TensorOf(tap.Find(0, AttentionSource::kClassQuery, 1)->weights);
  EXPECT_EQ(weights.sizes(), at::IntArrayRef({3, 1, 1 + 15}));
  EXPECT_LT((weights.sum(-1) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_GT((weights - weights.mean(-1, true)).abs().max().item<double>(), 1e-4);
}

// If all codes are equal, the gradient of the model's shared codes is the sum of the gradients of the blocks' codes.
TEST(FSne, TheGradientOfASharedCodeIsTheSumOverBlocks) {
  const auto shared = SmallXcit(kFSne), own = SmallXcit(kFSne, false);
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

}  // namespace
}  // namespace vitrine
