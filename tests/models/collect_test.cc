// SPDX-License-Identifier: Apache-2.0
// Tests how results are collected from an engine's arrays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/attention_distance.h"
#include "models/attention_maps.h"
#include "models/attention_tap.h"
#include "models/features.h"
#include "models/token_tap.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::Pointwise;

using Matrices = AttentionTap::Matrices;

// Returns irregular positive and negative values.
FloatArray Uneven(std::vector<int64_t> shape, int seed = 1) {
  FloatArray array{std::move(shape), {}};
  int64_t count = 1;
  for (const int64_t length : array.shape) count *= length;
  for (int64_t i = 0; i < count; ++i) array.values.push_back(std::sin(static_cast<float>(37 * i + seed)));
  return array;
}

struct Asked {
  v1::AttentionKind kind;
  std::vector<int> layers = {0};
  std::vector<int> heads = {};
  int query = 0;
};

std::vector<AttentionMap> Collect(const Asked& asked, const AttentionAbility& ability, const AttentionTap& tap,
                                  Grid grid) {
  v1::AttentionRequest request;
  request.set_kind(asked.kind);
  request.mutable_layers()->Assign(asked.layers.begin(), asked.layers.end());
  request.mutable_heads()->Assign(asked.heads.begin(), asked.heads.end());
  request.set_query(asked.query);
  return CollectAttention(request, ability, tap, 0, grid);
}

AttentionAbility Ability(v1::AttentionKind kind, AttentionSource source, int prefix_tokens, bool diverging = false) {
  return {.offers = {{.kind = kind, .source = source, .layers = 2, .heads = 2}},
          .prefix_tokens = prefix_tokens,
          .cell = 4,
          .channels = 3,
          .diverging = diverging};
}

// Computes rollout with whole matrices, as in the paper.
TEST(CollectAttention, RolloutEqualsTheClassRowOfTheMatrixProduct) {
  constexpr int kTokens = 7;  // a class token and 2x3 cells
  AttentionTap tap;
  double product[kTokens][kTokens];
  for (int i = 0; i < kTokens; ++i) {
    for (int j = 0; j < kTokens; ++j) product[i][j] = i == j;
  }
  for (const int layer : {0, 1}) {
    const FloatArray weights = Uneven({2, kTokens, kTokens}, layer);
    const auto mixed = [&](int i, int j) {
      return ((weights[0][i * kTokens + j] + weights[1][i * kTokens + j]) / 2.0 + (i == j)) / 2;
    };
    double next[kTokens][kTokens] = {};
    for (int i = 0; i < kTokens; ++i) {
      for (int j = 0; j < kTokens; ++j) {
        for (int k = 0; k < kTokens; ++k) next[i][j] += mixed(i, k) * product[k][j];
      }
    }
    std::copy(&next[0][0], &next[0][0] + kTokens * kTokens, &product[0][0]);
    tap.Put(0, AttentionSource::kTokens, layer, {.scores = {}, .weights = weights, .queries = {}, .keys = {}});
  }
  const auto maps =
      Collect({.kind = v1::ROLLOUT, .layers = {}}, Ability(v1::ROLLOUT, AttentionSource::kTokens, 1), tap, {2, 3});
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].rows, 2);
  EXPECT_EQ(maps[0].columns, 3);
  EXPECT_THAT(maps[0].values, Pointwise(FloatNear(1e-6F), std::vector<double>(product[0] + 1, product[0] + kTokens)));
}

TEST(CollectAttention, DistinguishesScoresAndWeights) {
  const FloatArray scores = Uneven({2, 4, 4}), weights = Uneven({2, 4, 4}, 2);
  AttentionTap tap;
  tap.Put(0, AttentionSource::kTokens, 0, {.scores = scores, .weights = weights, .queries = {}, .keys = {}});
  for (const auto& [kind, array] : {std::pair(v1::SCORES, &scores), std::pair(v1::WEIGHTS, &weights)}) {
    const auto maps = Collect({.kind = kind, .heads = {1, 0}}, Ability(kind, AttentionSource::kTokens, 0), tap, {2, 2});
    ASSERT_EQ(maps.size(), 2U);
    EXPECT_EQ(maps[0].head, 1);
    EXPECT_EQ(maps[0].layer, 0);
    EXPECT_EQ(maps[0].rows, 4);
    EXPECT_EQ(maps[0].columns, 4);
    EXPECT_THAT(maps[0].values, ElementsAreArray((*array)[1]));
    EXPECT_THAT(maps[1].values, ElementsAreArray((*array)[0]));
  }
}

// The keys of the class query are the class token and then the grid, although earlier blocks have no class token.
TEST(CollectAttention, ClassQueryKeysAreClassTokenAndGrid) {
  AttentionTap tap;
  const FloatArray weights{{2, 1, 4}, {0.1F, 0.2F, 0.3F, 0.4F, 0.7F, 0.1F, 0, 0.2F}};
  tap.Put(0, AttentionSource::kClassQuery, 0, {.scores = {}, .weights = weights, .queries = {}, .keys = {}});
  const AttentionAbility ability = Ability(v1::CLASS_ATTENTION, AttentionSource::kClassQuery, 0);
  const auto heads = Collect({.kind = v1::CLASS_ATTENTION, .heads = {1}}, ability, tap, {1, 3});
  EXPECT_THAT(heads.at(0).values, ElementsAre(0.1F, 0, 0.2F));
  const auto mean = Collect({.kind = v1::CLASS_ATTENTION}, ability, tap, {1, 3});
  EXPECT_EQ(mean.at(0).head, -1);
  EXPECT_EQ(mean.at(0).columns, 3);
  EXPECT_THAT(mean.at(0).values, Pointwise(FloatNear(1e-7F), {0.15F, 0.15F, 0.3F}));
}

// Each head has queries and keys of shape [2, 3]. Their products were computed by hand.
TEST(CollectAttention, HeadsOfFactorsAreScaledBeforeTheirMean) {
  AttentionTap tap;
  const FloatArray queries{{2, 2, 3}, {1, 0, 2, 0, -1, 1, 10, 0, 0, 0, 10, 0}};
  const FloatArray keys{{2, 2, 3}, {1, 1, 1, -2, 0, 0, 1, 2, 3, -4, 0, 1}};
  tap.Put(0, AttentionSource::kTokens, 0, {.scores = {}, .weights = {}, .queries = queries, .keys = keys});
  const AttentionAbility ability = Ability(v1::WEIGHTS, AttentionSource::kTokens, 0, /*diverging=*/true);
  const auto heads = Collect({.kind = v1::WEIGHTS, .heads = {0, 1}}, ability, tap, {1, 2});
  EXPECT_THAT(heads.at(0).values, ElementsAre(3, -2, 0, 0));
  EXPECT_THAT(heads.at(1).values, ElementsAre(10, -40, 20, 0));
  EXPECT_TRUE(heads.at(0).diverging);
  const auto mean = Collect({.kind = v1::WEIGHTS}, ability, tap, {1, 2});
  EXPECT_THAT(mean.at(0).values, Pointwise(FloatNear(1e-6F), {(1 + 0.25) / 2, (-2 / 3.0 - 1) / 2, 0.25, 0.0}));
}

TEST(CollectAttention, ChannelMapsAreChannelsByChannels) {
  AttentionTap tap;
  const FloatArray weights = Uneven({2, 3, 3});
  tap.Put(0, AttentionSource::kChannels, 0, {.scores = {}, .weights = weights, .queries = {}, .keys = {}});
  const auto maps = Collect({.kind = v1::CROSS_COVARIANCE, .heads = {1}},
                            Ability(v1::CROSS_COVARIANCE, AttentionSource::kChannels, 1), tap, {4, 5});
  EXPECT_EQ(maps.at(0).rows, 3);
  EXPECT_EQ(maps.at(0).columns, 3);
  EXPECT_THAT(maps.at(0).values, ElementsAreArray(weights[1]));
}

TEST(CollectAttention, DistanceOfFactorsEqualsDistanceOfTheirProduct) {
  AttentionTap tap;
  const FloatArray queries = Uneven({2, 6, 3}), keys = Uneven({2, 6, 3}, 2);
  tap.Put(0, AttentionSource::kTokens, 1, {.scores = {}, .weights = {}, .queries = queries, .keys = keys});
  const auto maps = Collect({.kind = v1::DISTANCE, .layers = {1}, .heads = {1}},
                            Ability(v1::DISTANCE, AttentionSource::kTokens, 0, true), tap, {2, 3});
  std::vector<float> product;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      float sum = 0;
      for (int c = 0; c < 3; ++c) sum += queries[1][i * 3 + c] * keys[1][j * 3 + c];
      product.push_back(sum);
    }
  }
  ASSERT_EQ(maps.at(0).values.size(), 1U);
  EXPECT_NEAR(maps[0].values[0], AttentionDistance(product, {2, 3}, 0, 4, false), 1e-5);
}

// The images have 1x2 and 2x1 cells after a class token. A value encodes its token and channel.
TEST(CollectFeature, ReturnsTheTokensOfItsImage) {
  TokenTap tap;
  tap.Put(TokenTap::kFinal,
          {{{6, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51}}, TokenLayout::Make({{1, 2}, {2, 1}}, 1)});
  const auto feature = [&](v1::FeatureKind kind, int image) {
    v1::FeatureRequest request;
    request.set_kind(kind);
    return CollectFeature(request, tap, image);
  };
  EXPECT_THAT(feature(v1::CLASS_TOKEN, 0).values, ElementsAre(0, 1));
  EXPECT_THAT(feature(v1::CLASS_TOKEN, 1).values, ElementsAre(30, 31));
  EXPECT_THAT(feature(v1::MEAN_TOKEN, 0).values, ElementsAre(15, 16));
  EXPECT_THAT(feature(v1::MEAN_TOKEN, 1).values, ElementsAre(45, 46));
  const FeatureMap patches = feature(v1::PATCH_TOKENS, 1);
  EXPECT_EQ(patches.rows, 2);
  EXPECT_EQ(patches.columns, 1);
  EXPECT_EQ(patches.width, 2);
  EXPECT_THAT(patches.values, ElementsAre(40, 41, 50, 51));
  EXPECT_THAT(feature(v1::PATCH_TOKENS, 0).values, ElementsAre(10, 11, 20, 21));
}

}  // namespace
}  // namespace vitrine
