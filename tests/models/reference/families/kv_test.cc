// SPDX-License-Identifier: Apache-2.0
// Tests the identities of the KV transformer.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/attention/kv_attention.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::RandomImage;

// The expected values were recorded from the paper's library, for position 5 and two numbers of channels.
TEST(KeyPositions, AreThoseOfTheLibrary) {
  const at::Tensor ten = KeyPositions(6, 10);
  ASSERT_EQ(ten.size(1), 4);
  const float last[] = {-0.958924F, 0.283662F, 0.230002F, 0.973190F};
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(ten[5][c].item<float>(), last[c], 1e-6);
  const at::Tensor fifty = KeyPositions(6, 50);
  ASSERT_EQ(fifty.size(1), 24);
  const float first[] = {-0.958924F, 0.283662F, 0.628522F, -0.777792F};
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(fifty[5][c].item<float>(), first[c], 1e-6);
  EXPECT_EQ(KeyPositions(6, 20).size(1), 10);
}

// Expected: n d + lin(c P^2, d) + d + L (attention + 4 d + 2 lin(d, d)) + lin(d, d) + lin(d, classes). Projections have
// no biases. `attention` is 4 d^2 + d with queries, 3 d^2 + d without, and m + 1 = 51 more with positions.
TEST(KvZoo, ParametersAreTheFormulas) {
  std::map<std::string, int> rows;
  for (const ZooRow& row : Zoo()) {
    if (!row.config.has_kv()) continue;
    const v1::KvConfig& kv = row.config.kv();
    const auto lin = [](int64_t in, int64_t out) { return in * out + out; };
    const int64_t d = kv.width(), classes = row.config.classes();
    const int64_t channels = row.config.preprocessing().channels(), side = channels == 1 ? 28 : 32;
    const int64_t n = 1 + (side / kv.patch()) * (side / kv.patch());
    const int64_t attention =
        (kv.attention() == v1::KvConfig::QKV ? 4 : 3) * d * d + d + (kv.attention() == v1::KvConfig::KV_POS ? 51 : 0);
    EXPECT_EQ(row.parameters, n * d + lin(channels * kv.patch() * kv.patch(), d) + d +
                                  kv.depth() * (attention + 4 * d + 2 * lin(d, d)) + lin(d, d) + lin(d, classes))
        << row.name;
    ++rows[std::to_string(channels) + " channels, " + std::to_string(classes) + " classes, patch " +
           std::to_string(kv.patch())];
  }
  // 18 rows: three attentions, three widths, two depths.
  const std::map<std::string, int> whole = {{"1 channels, 10 classes, patch 7", 18},
                                            {"1 channels, 10 classes, patch 4", 18},
                                            {"3 channels, 10 classes, patch 4", 18},
                                            {"3 channels, 10 classes, patch 8", 18},
                                            {"3 channels, 100 classes, patch 4", 18}};
  EXPECT_EQ(rows, whole);
}

class Watched : public ::testing::Test {
 protected:
  struct Matrices {
    at::Tensor scores, weights;
  };
  Matrices Run(std::string_view variant) {
    model_ = testing::MakeHashed(FindVariant(variant)->config);
    AttentionTap tap;
    tap.Request(0, AttentionSource::kTokens, 1);
    EXPECT_TRUE(RunModel(*model_, {RandomImage(1, 28, 28, 3)}, &tap).ok());
    const AttentionTap::Matrices& found = *tap.Find(0, AttentionSource::kTokens, 1);
    return {TensorOf(found.scores), TensorOf(found.weights)};
  }
  std::unique_ptr<Model> model_;
};

TEST_F(Watched, KvScoresAreSymmetricAndTheirSoftmaxInDetailedBalance) {
  const Matrices matrices = Run("kv-mnist-p7-d64-l2");
  EXPECT_LT(Difference(matrices.scores, matrices.scores.transpose(1, 2)), 1e-5);
  EXPECT_GT(Difference(matrices.weights, matrices.weights.transpose(1, 2)), 1e-4) << "the softmax breaks the symmetry";
  const at::Tensor balanced = matrices.weights * matrices.scores.exp().sum(-1, /*keepdim=*/true);  // A_ij Z_i
  EXPECT_LT(Difference(balanced, balanced.transpose(1, 2)), 1e-4);
}

TEST_F(Watched, KvPosHandsOutTheSymmetricPartAndAnOffsetPerKey) {
  const Matrices matrices = Run("kv-pos-mnist-p7-d64-l2");
  EXPECT_LT(Difference(matrices.scores, matrices.scores.transpose(1, 2)), 1e-5);
  // log A_ij - score_ij = g(j) - log Z_i, so its differences along a row are equal for all rows and heads.
  const at::Tensor offsets = matrices.weights.log() - matrices.scores;
  const at::Tensor differences = offsets - offsets.narrow(2, 0, 1);
  EXPECT_LT(Difference(differences, differences.narrow(0, 0, 1).narrow(1, 0, 1)), 1e-4);
  EXPECT_GT(differences.abs().max().item<double>(), 1e-2);
}

TEST_F(Watched, QkvScoresAreNotSymmetric) {
  const Matrices matrices = Run("qkv-mnist-p7-d64-l2");
  EXPECT_GT(Difference(matrices.scores, matrices.scores.transpose(1, 2)), 1e-3);
}

TEST_F(Watched, TheBiasOfMapPosHasNoEffect) {
  Run("kv-pos-mnist-p7-d64-l2");
  const at::NoGradGuard no_grad;
  const ImageBatch images{RandomImage(1, 28, 28, 3)};
  const at::Tensor before = *RunModel(*model_, images);
  for (NamedTensor& parameter : model_->Parameters()) {
    if (parameter.name.find("map_pos.bias") != std::string::npos) parameter.tensor.add_(3);
  }
  EXPECT_LT(Difference(*RunModel(*model_, images), before), 1e-5);
}

// Tests the two widths by which scores may be scaled. The formulas in oracle.cc test that models use these factors.
TEST_F(Watched, ScoreScaleIsTheConfigs) {
  v1::ModelConfig config = FindVariant("kv-mnist-p7-d64-l2")->config;
  at::Tensor scores[2];
  for (const auto scale : {v1::KvConfig::FULL_WIDTH, v1::KvConfig::HEAD_WIDTH}) {
    config.mutable_kv()->set_score_scale(scale);
    AttentionTap tap;
    tap.Request(0, AttentionSource::kTokens, 0);
    EXPECT_TRUE(RunModel(*testing::MakeHashed(config), {RandomImage(1, 28, 28, 3)}, &tap).ok());
    scores[scale - 1] = TensorOf(tap.Find(0, AttentionSource::kTokens, 0)->scores);
  }
  EXPECT_LT(Difference(scores[0] * 2, scores[1]), 1e-5) << "four heads: the square root of their ratio is two";
}

}  // namespace
}  // namespace vitrine
