// SPDX-License-Identifier: Apache-2.0
// Tests the identities of KV attention in the sequence models.
#include "trainer/lab/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>

#include "models/reference/float_arrays.h"
#include "tests/models/reference/images.h"
#include "tests/trainer/lab/oracle.h"
#include "trainer/lab/ends.h"
#include "trainer/lab/layers.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::HashedBatch;
using testing::MakeHashedSequence;
using testing::PositionalTensor;

// The expected values at (2, 5) were recorded from the paper's library.
TEST(PositionalTensor, EqualsThatOfThePapersLibrary) {
  const float ten[] = {0.909297F, -0.416147F, 0.092699F, 0.995694F, 0.004309F,
                       0.999991F, -0.958924F, 0.283662F, 0.230002F, 0.973190F};
  const at::Tensor p = PositionalTensor(6, 10)[2][5];
  for (int c = 0; c < 10; ++c) EXPECT_NEAR(p[c].item<double>(), ten[c], 1e-6) << c;
  const at::Tensor fifty = PositionalTensor(6, 50)[2][5];
  const float query[] = {0.909297F, -0.416147F, 0.833149F, 0.553049F};
  const float key[] = {-0.958924F, 0.283662F, 0.628522F, -0.777792F};
  for (int c = 0; c < 4; ++c) {
    EXPECT_NEAR(fifty[c].item<double>(), query[c], 1e-6) << c;
    EXPECT_NEAR(fifty[26 + c].item<double>(), key[c], 1e-6) << c;
  }
  // A model stores only half of the positional tensor: the channels of the key, which are the same in every row.
  for (const int m : {3, 10, 20, 50}) {
    const at::Tensor keys = KeyPositions(6, m);
    const at::Tensor expected = PositionalTensor(6, m)[4].narrow(1, m - keys.size(1), keys.size(1));
    EXPECT_LT(Difference(keys, expected), 1e-6) << m;
  }
}

TEST(Sinusoids, AreInterleavedOrInHalves) {
  const at::Tensor alternating = sequences::Sinusoids(8, 6, /*halves=*/false);
  const double w[] = {1, 1 / std::pow(10000.0, 1.0 / 3), 1 / std::pow(10000.0, 2.0 / 3)};
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(alternating[7][2 * k].item<double>(), std::sin(7 * w[k]), 1e-6);
    EXPECT_NEAR(alternating[7][2 * k + 1].item<double>(), std::cos(7 * w[k]), 1e-6);
  }
  const at::Tensor halves = sequences::Sinusoids(8, 6, /*halves=*/true);
  EXPECT_EQ(Difference(halves.narrow(1, 0, 3), alternating.slice(1, 0, 6, 2)), 0);
  EXPECT_EQ(Difference(halves.narrow(1, 3, 3), alternating.slice(1, 1, 6, 2)), 0);
}

// map_pos as published: a linear layer m -> 1 on the tensor [B, h, n, n, m] of scores plus positions.
at::Tensor NaiveMapPosition(const at::Tensor& scores, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t m = weight.size(-1);
  const at::Tensor mixed = scores.unsqueeze(-1) + PositionalTensor(scores.size(-1), static_cast<int>(m));
  return (mixed * weight.view({-1, 1, 1, m})).sum(-1) + bias.view({-1, 1, 1});
}

class ReducedMapPosition : public ::testing::TestWithParam<int> {};

// Compares the values and every gradient of the reduced map_pos with the published map_pos. With the parameter 0, all
// heads share one map_pos. With 3, each head has its own.
TEST_P(ReducedMapPosition, HasTheSoftmaxAndGradientsOfThePublishedForm) {
  constexpr int kBatch = 2, kHeads = 3, kLength = 9;
  for (const int channels : {3, 10, 20, 50}) {
    Initializer initializer(1, at::kCPU);
    sequences::MapPositionLayer layer(/*keys=*/12, channels, GetParam(), initializer);
    layer.RequireGrad(true);
    const MapPosition map = layer.map();
    at::Tensor scores = Hashed({kBatch, kHeads, kLength, kLength}, 2).set_requires_grad(true);
    at::Tensor exact = scores.detach().to(at::kDouble).set_requires_grad(true);
    at::Tensor weight = map.weight.detach().to(at::kDouble).set_requires_grad(true);
    at::Tensor bias = map.bias.detach().to(at::kDouble).set_requires_grad(true);

    const at::Tensor reduced = map.Logits(scores).softmax(-1);
    const at::Tensor naive = NaiveMapPosition(exact, weight, bias).softmax(-1);
    EXPECT_LT(Difference(reduced, naive), 1e-5) << channels;

    const at::Tensor direction = Hashed(scores.sizes(), 3);
    (reduced * direction).sum().backward();
    (naive * direction).sum().backward();
    EXPECT_LT(Difference(scores.grad(), exact.grad()), 1e-5) << channels;
    EXPECT_LT(Difference(map.weight.grad(), weight.grad()), 2e-5) << channels;
    EXPECT_GT(weight.grad().abs().max().item<double>(), 1e-2) << "nothing was compared";
    EXPECT_LT(bias.grad().abs().max().item<double>(), 1e-14) << "the published form's bias has an effect";
    EXPECT_EQ(map.bias.grad().abs().max().item<double>(), 0);
    // The weights on the query's channels act only through their sum, so their gradients are equal.
    const int64_t q = 2 * ((channels + 3) / 4);
    const at::Tensor query_part = weight.grad().slice(-1, 0, q);
    EXPECT_LT(Difference(query_part, query_part.slice(-1, 0, 1).expand_as(query_part)), 1e-12) << channels;
  }
}

INSTANTIATE_TEST_SUITE_P(SharedAndPerHead, ReducedMapPosition, ::testing::Values(0, 3));

TEST(MapPosition, FusedTermsEqualTheLogits) {
  Initializer initializer(1, at::kCPU);
  const MapPosition map = sequences::MapPositionLayer(/*keys=*/12, 10, /*heads=*/0, initializer).map();
  const at::Tensor scores = Hashed({1, 1, 9, 9}, 2);
  EXPECT_LT(Difference(scores * map.Scale() + map.KeyOffsets(9), map.Logits(scores)), 1e-5);
}

// With scores alpha K K^T, a key is both query and key: dL/dK = alpha (G + G^T) K for G = dL/dscores.
TEST(KvScores, GradientOfTheKeysHasBothSides) {
  constexpr double kAlpha = 0.3;
  at::Tensor keys = Hashed({7, 5}, 1).to(at::kDouble).set_requires_grad(true);
  at::Tensor scores = sequences::AttentionScores(keys, keys, kAlpha);
  scores.retain_grad();
  (scores.softmax(-1) * Hashed({7, 7}, 2)).sum().backward();
  const at::Tensor& g = scores.grad();
  EXPECT_GT(Difference(g, g.t()), 1e-3) << "a symmetric G would prove little";
  EXPECT_LT(Difference(keys.grad(), kAlpha * (g + g.t()).matmul(keys.detach())), 1e-12);
}

struct Matrices {
  at::Tensor scores, weights;
};
Matrices Watch(const SequenceModel& model, int layer, const SequenceBatch& batch) {
  AttentionTap tap;
  tap.Request(1, AttentionSource::kTokens, layer);
  const auto logits = RunSequenceModel(model, batch, &tap);
  EXPECT_TRUE(logits.ok()) << logits.status();
  const AttentionTap::Matrices* found = tap.Find(1, AttentionSource::kTokens, layer);
  EXPECT_NE(found, nullptr);
  EXPECT_EQ(tap.Find(0, AttentionSource::kTokens, layer), nullptr) << "nobody asked for it";
  return found == nullptr ? Matrices() : Matrices{TensorOf(found->scores), TensorOf(found->weights)};
}

TEST(KvAttention, ScoresAreSymmetricAndWeightsInDetailedBalance) {
  for (const std::string row : {"task-kv-d64-l2", "anomaly-kv-d256-l2"}) {
    SCOPED_TRACE(row);
    const auto model = MakeHashedSequence(row);
    const Matrices seen = Watch(*model, 1, HashedBatch(model->config(), 2, 10));
    EXPECT_EQ(seen.scores.size(0), 4) << "heads";
    EXPECT_LT(Difference(seen.scores, seen.scores.transpose(1, 2)), 1e-5);
    EXPECT_GT(Difference(seen.weights, seen.weights.transpose(1, 2)), 1e-4) << "the softmax breaks the symmetry";
    // Multiplies each weight by the sum of exp(scores) of its row, which undoes the normalisation by the softmax.
    const at::Tensor balanced = seen.weights * seen.scores.exp().sum(-1, /*keepdim=*/true);
    EXPECT_LT(Difference(balanced, balanced.transpose(1, 2)), 1e-5 * balanced.max().item<double>());
  }
}

TEST(KvAttention, QkvScoresAreNotSymmetric) {
  const auto model = MakeHashedSequence("task-qkv-d64-l2");
  const Matrices seen = Watch(*model, 1, HashedBatch(model->config(), 2, 10));
  EXPECT_GT(Difference(seen.scores, seen.scores.transpose(1, 2)), 1e-3);
}

TEST(KvAttention, KvPosTapsHaveTheSymmetricPartAndKeyOffsets) {
  for (const std::string row : {"task-kv-pos-d64-l2", "characters-kv-pos-d192-l6"}) {
    SCOPED_TRACE(row);
    v1::SequenceConfig config = testing::SequenceConfigOf(row);
    config.set_causal(false);  // every row attends to all columns
    const auto model = MakeHashedSequence(config);
    const Matrices seen = Watch(*model, 1, HashedBatch(config, 2, 10));
    EXPECT_LT(Difference(seen.scores, seen.scores.transpose(1, 2)), 1e-5);
    // log(weight) - score is a term of the key minus a term of the query. So its differences along a row are the same
    // in every row.
    const at::Tensor offsets = seen.weights.log() - seen.scores;
    const at::Tensor differences = offsets - offsets.narrow(2, 0, 1);
    EXPECT_LT(Difference(differences, differences.narrow(1, 0, 1)), 1e-3);
    EXPECT_GT(differences.abs().max().item<double>(), 1e-2);
    // The differences are equal in all heads only if the heads share one map_pos.
    const double heads = Difference(differences, differences.narrow(0, 0, 1));
    if (config.map_pos_per_head()) {
      EXPECT_GT(heads, 1e-2);
    } else {
      EXPECT_LT(heads, 1e-3);
    }
  }
}

}  // namespace
}  // namespace vitrine
