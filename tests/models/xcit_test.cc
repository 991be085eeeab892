// SPDX-License-Identifier: Apache-2.0
// XCiT's identities: positions, embeddings of q, k and v, cross-covariance attention, class attention.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <map>

#include "models/layers/cross_covariance_attention.h"
#include "models/layers/fourier_positions.h"
#include "models/layers/local_patch_interaction.h"
#include "models/layers/qkv_embedding.h"
#include "tests/models/pictures.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::Picture;

constexpr int kWidth = 24;
constexpr int kHeads = 3;

v1::XcitConfig Settings(const std::string& embedding = "") {
  return testing::Config("xcit { width: 24 heads: 3 " + embedding + " }").xcit();
}
const std::string kFSne = "embedding: F_SNE embedding_width: 20 code_length: 5";

// A layer with hashed weights.
template <typename Layer>
std::unique_ptr<Layer> Hash(std::unique_ptr<Layer> layer) {
  testing::HashWeights(*layer, 3);
  return layer;
}
std::unique_ptr<QkvEmbedding> Embedding(const std::string& text) {
  Initializer initializer(1, at::kCPU);
  return Hash(MakeQkvEmbedding(Settings(text), initializer));
}
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

TEST(FourierPositions, RowsComeBeforeColumns) {
  Initializer initializer(1, at::kCPU);
  FourierPositions positions(64, initializer);
  const at::NoGradGuard no_grad;
  auto tensors = TensorsOf(positions);
  tensors.at("projection.weight").copy_(at::eye(64));
  tensors.at("projection.bias").fill_(2);
  const at::Tensor table = positions.For({14, 14}, {}) - 2;
  ExpectStartsWith(table[3 * 14 + 7], 0, {0.974928F, -0.222521F, 0.846573F, 0.532273F});
  ExpectStartsWith(table[3 * 14 + 7], 32, {-0.433884F, -0.900969F, 0.901216F, -0.433370F});
  EXPECT_LT(Difference(positions.For({2, 5}, {})[7] - 2, at::cat({FourierFeatures(2)[1], FourierFeatures(5)[2]})),
            1e-6);
}

// The published form, with the code beside every token, in fp64.
Qkv Concatenated(const QkvEmbedding& embedding, const at::Tensor& x, const at::Tensor& codes) {
  std::map<std::string, at::Tensor> w = TensorsOf(embedding);
  const auto linear = [&](const std::string& name, const at::Tensor& y) {
    return y.matmul(w.at(name + ".weight").to(at::kDouble).t()) + w.at(name + ".bias").to(at::kDouble);
  };
  at::Tensor parts[3];
  for (int i = 0; i < 3; ++i) {
    const at::Tensor code = codes[i].to(at::kDouble).expand({x.size(0), codes.size(1)});
    parts[i] = linear("second", at::relu(linear("first", at::cat({x.to(at::kDouble), code}, 1))));
  }
  return {parts[0], parts[1], parts[2]};
}

TEST(FSne, FactoredAndConcatenatedFormsAgree) {
  const auto embedding = Embedding(kFSne);
  embedding->RequireGrad(true);
  const at::Tensor x = Hashed({37, kWidth}, 5);
  at::Tensor codes = Hashed({3, 5}, 6).set_requires_grad(true);
  at::Tensor naive_codes = codes.detach().clone().set_requires_grad(true);
  const Qkv factored = embedding->Forward(x, codes, {});
  const Qkv naive = Concatenated(*embedding, x, naive_codes);
  const auto compare = [&](const at::Tensor& a, const at::Tensor& b) {
    EXPECT_LT(Difference(a.to(at::kDouble), b), 1e-5);
  };
  compare(factored.q, naive.q);
  compare(factored.k, naive.k);
  compare(factored.v, naive.v);
  EXPECT_GT(Difference(factored.q, factored.k), 1e-2);

  // A code's gradient gathers from every token, and the first layer's from tokens and codes.
  const at::Tensor direction = Hashed({37, kWidth}, 7);
  const auto pull = [&](const Qkv& y) {
    const at::Tensor d = direction.to(y.q.scalar_type());
    ((y.q + 2 * y.k - y.v) * d).sum().backward();
  };
  at::Tensor weight = TensorsOf(*embedding).at("first.weight");
  pull(factored);
  const at::Tensor gradient = weight.grad().clone();
  weight.mutable_grad().zero_();
  pull(naive);
  EXPECT_LT(Difference(codes.grad(), naive_codes.grad()), 1e-4);
  EXPECT_LT(Difference(gradient, weight.grad()), 1e-4);
  EXPECT_GT(codes.grad().abs().min().item<double>(), 1e-3);
}

TEST(FSne, EqualCodesMakeQueriesKeysAndValuesEqual) {
  const auto embedding = Embedding(kFSne);
  const Qkv same = embedding->Forward(Hashed({37, kWidth}, 5), Hashed({1, 5}, 6).expand({3, 5}), {});
  EXPECT_EQ(Difference(same.q, same.k), 0);
  EXPECT_EQ(Difference(same.q, same.v), 0);
}

TEST(FSne, OwnCodesTakeThePlaceOfTheModels) {
  const auto embedding = Embedding(kFSne + " codes_per_block: true");
  const at::Tensor x = Hashed({4, kWidth}, 5);
  const at::Tensor own = TensorsOf(*embedding).at("codes");
  EXPECT_LT(Difference(embedding->Forward(x, {}, {}).k.to(at::kDouble), Concatenated(*embedding, x, own).k), 1e-5);
}

TEST(PSne, EqualFirstLayersMakeEqualParts) {
  const auto embedding = Embedding("embedding: P_SNE embedding_width: 18");
  const at::NoGradGuard no_grad;
  const at::Tensor x = Hashed({37, kWidth}, 5);
  auto tensors = TensorsOf(*embedding);
  EXPECT_GT(Difference(embedding->Forward(x, {}, {}).q, embedding->Forward(x, {}, {}).k), 1e-2);
  tensors.at("k.weight").copy_(tensors.at("q.weight"));
  tensors.at("k.bias").copy_(tensors.at("q.bias"));
  const Qkv equal = embedding->Forward(x, {}, {});
  EXPECT_EQ(Difference(equal.q, equal.k), 0);
  EXPECT_GT(Difference(equal.q, equal.v), 1e-2);
}

TEST(Codes, GeometryIsCosinesAndNorms) {
  at::Tensor codes = Hashed({3, 2}, 1);
  const float values[] = {3, 4, 4, -3, -6, -8};
  for (int i = 0; i < 6; ++i) codes[i / 2][i % 2] = values[i];
  const CodeGeometry geometry = GeometryOf(codes);
  ExpectStartsWith(geometry.norms, 0, {5, 5, 10});
  ExpectStartsWith(geometry.cosines.flatten(), 0, {1, 0, -1, 0, 1, 0, -1, 0, 1});
}

class Xca : public ::testing::Test {
 protected:
  Xca() {
    Initializer initializer(1, at::kCPU);
    attention_ = Hash(std::make_unique<CrossCovarianceAttention>(Settings(), initializer));
  }
  at::Tensor Run(const at::Tensor& x, AttentionTap* tap = nullptr) const {
    ForwardContext context;
    context.tap = tap;
    return attention_->Forward({x, layout_}, {}, 0, 0, context);
  }

  const std::shared_ptr<const TokenLayout> layout_ = TokenLayout::Make({{3, 5}, {4, 2}}, 0);
  const at::Tensor x_ = Hashed({23, kWidth}, 4);
  std::unique_ptr<CrossCovarianceAttention> attention_;
};

TEST_F(Xca, RowsOfTheMapSumToOne) {
  AttentionTap tap;
  tap.Request(1, AttentionSource::kChannels, 0);
  Run(x_, &tap);
  EXPECT_EQ(tap.Find(0, AttentionSource::kChannels, 0), nullptr);
  const AttentionTap::Matrices* matrices = tap.Find(1, AttentionSource::kChannels, 0);
  ASSERT_NE(matrices, nullptr);
  ASSERT_EQ(matrices->weights.sizes(), at::IntArrayRef({kHeads, kWidth / kHeads, kWidth / kHeads}));
  EXPECT_LT((matrices->weights.sum(-1) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_LT(Difference(matrices->scores.softmax(-1), matrices->weights), 1e-6);
  // Cosines times the temperature.
  const at::Tensor temperature = TensorsOf(*attention_).at("temperature").abs();
  EXPECT_LT((matrices->scores.abs() - temperature).max().item<double>(), 1e-5);
}

TEST_F(Xca, TheScaleOfAChannelOfQOrKDoesNotMatter) {
  const at::NoGradGuard no_grad;
  const at::Tensor before = Run(x_);
  auto tensors = TensorsOf(*attention_);
  for (const int row : {5, kWidth + 7}) {  // a channel of q, one of k
    tensors.at("qkv.weight")[row].mul_(3.5);
    tensors.at("qkv.bias")[row].mul_(3.5);
    EXPECT_LT(Difference(Run(x_), before), 1e-5);
  }
  tensors.at("qkv.weight")[2 * kWidth + 7].mul_(3.5);  // one of v
  EXPECT_GT(Difference(Run(x_), before), 1e-2);
}

TEST_F(Xca, PermutingTokensCommutesWithItButNotWithLocalPatchInteraction) {
  const at::Tensor permuted = at::cat({x_.narrow(0, 0, 15).flip(0), x_.narrow(0, 15, 8).roll(3, 0)});
  const auto permute = [](const at::Tensor& y) {
    return at::cat({y.narrow(0, 0, 15).flip(0), y.narrow(0, 15, 8).roll(3, 0)});
  };
  EXPECT_LT(Difference(Run(permuted), permute(Run(x_))), 1e-5);
  Initializer initializer(1, at::kCPU);
  LocalPatchInteraction local(kWidth, 1e-6, initializer);
  testing::HashWeights(local);
  EXPECT_GT(Difference(local.Forward({permuted, layout_}, {}), permute(local.Forward({x_, layout_}, {}))), 1e-2);
}

TEST_F(Xca, ChannelsOfZerosStayFinite) {
  const at::NoGradGuard no_grad;
  auto tensors = TensorsOf(*attention_);
  tensors.at("qkv.weight").slice(0, 0, kWidth).zero_();
  tensors.at("qkv.bias").slice(0, 0, kWidth).zero_();
  EXPECT_TRUE(Run(x_).isfinite().all().item<bool>());
}

std::unique_ptr<Model> SmallXcit(const std::string& more, bool shared = true) {
  return testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } xcit { patch: 8 width: "
      "24 depth: 2 class_depth: 2 heads: 3 mlp_width: 30 " +
      more + (shared ? "" : " codes_per_block: true") + " }"));
}

// Row by row the table of what a class-attention block does to patch tokens.
TEST(ClassAttentionBlock, PatchRowsAreNormalisedAndDoubled) {
  const ImageBatch images{Picture(3, 24, 40, 1), Picture(3, 16, 16, 2)};
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
      const PackedTokens& x = *tap.Find(stage);
      const TokenLayout& layout = *x.layout;
      return x.data.narrow(0, layout.offset(image), layout.tokens(image)).slice(0, layout.prefix_tokens());
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
      const PackedTokens& final_tokens = *tap.Find(TokenTap::kFinal);
      const at::Tensor c = final_tokens.data[final_tokens.layout->offset(image)];
      EXPECT_LT(Difference(c.matmul(w.at("head.weight").t()) + w.at("head.bias"), logits[image]), 1e-4);
    }
  }
}

TEST(ClassAttentionBlock, HandsOutTheClassRowAfterTheSoftmax) {
  const auto model = SmallXcit("");
  const ImageBatch images{Picture(3, 24, 40, 1), Picture(3, 16, 16, 2)};
  AttentionTap tap;
  tap.Request(0, AttentionSource::kClassQuery, 1);
  ASSERT_TRUE(RunModel(*model, images, &tap).ok());
  const at::Tensor weights = tap.Find(0, AttentionSource::kClassQuery, 1)->weights;
  EXPECT_EQ(weights.sizes(), at::IntArrayRef({3, 1, 1 + 15}));
  EXPECT_LT((weights.sum(-1) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_GT((weights - weights.mean(-1, true)).abs().max().item<double>(), 1e-4);
}

// With equal values, codes of the model get the sum of what codes of the blocks get.
TEST(FSne, TheGradientOfASharedCodeIsTheSumOverBlocks) {
  const auto shared = SmallXcit(kFSne), own = SmallXcit(kFSne, false);
  {
    const at::NoGradGuard no_grad;
    auto from = TensorsOf(*shared), to = TensorsOf(*own);
    for (auto& [name, tensor] : to) {
      tensor.copy_(name.find("codes") == std::string::npos ? from.at(name) : from.at("codes"));
    }
  }
  const ImageBatch images{Picture(3, 24, 40, 1), Picture(3, 16, 16, 2)};
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
