// SPDX-License-Identifier: Apache-2.0
#include "models/attention_maps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "models/attention_distance.h"
#include "models/reference/float_arrays.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using ::testing::HasSubstr;
using testing::RandomImage;

constexpr Grid kGrid{3, 5};

AttentionAbility Ability() {
  AttentionAbility ability{.prefix_tokens = 1, .cell = 4, .channels = 6};
  for (const v1::AttentionKind kind : {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::WEIGHTS,
                                       v1::QUERY_ROW, v1::DISTANCE, v1::CROSS_COVARIANCE}) {
    ability.offers.push_back({.kind = kind, .layers = 3, .heads = 4});
  }
  return ability;
}

v1::AttentionRequest Request(v1::AttentionKind kind, std::vector<int> layers = {}, std::vector<int> heads = {}) {
  v1::AttentionRequest request;
  request.set_kind(kind);
  request.mutable_layers()->Assign(layers.begin(), layers.end());
  request.mutable_heads()->Assign(heads.begin(), heads.end());
  return request;
}

std::string Refusal(const v1::AttentionRequest& request, const AttentionAbility& ability = Ability()) {
  const absl::Status status = ResolveAttention(request, ability, kGrid).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ResolveAttention, MakesDefaultsExplicitAndIndicesPositive) {
  const auto resolved = ResolveAttention(Request(v1::WEIGHTS), Ability(), kGrid);
  ASSERT_TRUE(resolved.ok());
  EXPECT_THAT(resolved->layers(), ::testing::ElementsAre(2));
  EXPECT_TRUE(resolved->heads().empty());
  EXPECT_EQ(resolved->encoding(), v1::FLOAT16);
  EXPECT_THAT(ResolveAttention(Request(v1::WEIGHTS, {-3, 1}), Ability(), kGrid)->layers(),
              ::testing::ElementsAre(0, 1));
  EXPECT_THAT(ResolveAttention(Request(v1::WEIGHTS, {}, {-1, -4}), Ability(), kGrid)->heads(),
              ::testing::ElementsAre(3, 0));
  const auto distance = ResolveAttention(Request(v1::DISTANCE), Ability(), kGrid);
  EXPECT_THAT(distance->layers(), ::testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(distance->heads(), ::testing::ElementsAre(0, 1, 2, 3));
}

TEST(ResolveAttention, ErrorsNameTheFaultAndTheRemedy) {
  EXPECT_THAT(Refusal(Request(v1::SCORES)), AllOf(HasSubstr("SCORES"), HasSubstr("CLASS_TOKEN_ROW, MEAN_OVER")));
  EXPECT_THAT(Refusal(Request(v1::ATTENTION_KIND_UNSPECIFIED)), HasSubstr("UNSPECIFIED"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {3})), AllOf(HasSubstr("layer 3"), HasSubstr("0 to 2")));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {-4})), HasSubstr("layer -4"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {0}, {4})), AllOf(HasSubstr("head 4"), HasSubstr("0 to 3")));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {0}, {-5})), HasSubstr("head -5"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {0, -3})), HasSubstr("twice"));
  EXPECT_THAT(Refusal(Request(v1::ROLLOUT, {0})), HasSubstr("all layers"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS), {}), HasSubstr("no attention"));
  v1::AttentionRequest overlay = Request(v1::WEIGHTS);
  overlay.set_encoding(v1::OVERLAY_PNG);
  EXPECT_THAT(Refusal(overlay), HasSubstr("does not lie on the image"));
  v1::AttentionRequest query = Request(v1::QUERY_ROW);
  query.set_query(15);
  EXPECT_THAT(Refusal(query), AllOf(HasSubstr("query 15"), HasSubstr("3x5"), HasSubstr("0 to 14")));
  query.set_query(-1);
  EXPECT_THAT(Refusal(query), HasSubstr("query -1"));
  query = Request(v1::WEIGHTS);
  query.set_query(2);
  EXPECT_THAT(Refusal(query), HasSubstr("only QUERY_ROW"));
  v1::AttentionRequest mass = Request(v1::WEIGHTS);
  mass.set_keep_class_mass(true);
  EXPECT_THAT(Refusal(mass), HasSubstr("only DISTANCE"));
}

TEST(SizeOf, CountsMapsAndValues) {
  const AttentionAbility ability = Ability();
  EXPECT_EQ(SizeOf(Request(v1::ROLLOUT), ability, kGrid).values_per_map, 15);
  EXPECT_EQ(SizeOf(Request(v1::ROLLOUT), ability, kGrid).maps, 1);
  const AttentionSize weights = SizeOf(Request(v1::WEIGHTS, {0, 1}, {0, 1, 2}), ability, kGrid);
  EXPECT_EQ(weights.maps, 6);
  EXPECT_EQ(weights.values_per_map, 256);
  EXPECT_EQ(SizeOf(Request(v1::CLASS_TOKEN_ROW, {0}), ability, kGrid).maps, 1);
  EXPECT_EQ(SizeOf(Request(v1::CROSS_COVARIANCE, {0}), ability, kGrid).values_per_map, 36);
  const AttentionSize distance = SizeOf(Request(v1::DISTANCE, {0, 1}, {0, 1, 2}), ability, kGrid);
  EXPECT_EQ(distance.maps, 1);
  EXPECT_EQ(distance.values_per_map, 6);
}

// A ViT that captures the attention of one image, in a batch with an image of another size.
class CapturedAttention : public ::testing::Test {
 protected:
  CapturedAttention()
      : model_(testing::MakeHashed(testing::Config(
            "classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } "
            "vit { patch: 4 width: 24 depth: 3 heads: 4 mlp_width: 48 grid_rows: 4 grid_columns: 4 }"))) {}

  std::vector<AttentionMap> Maps(const v1::AttentionRequest& request) {
    const auto resolved = ResolveAttention(request, model_->attention(), kGrid);
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    AttentionTap tap;
    RequestAttention(*resolved, model_->attention(), kWatched, tap);
    const auto logits = RunModel(*model_, images_, &tap);
    EXPECT_TRUE(logits.ok()) << logits.status();
    EXPECT_EQ(Difference(*logits, *RunModel(*model_, images_)), 0) << "watching moved the logits";
    EXPECT_EQ(tap.Find(0, AttentionSource::kTokens, 0), nullptr) << "an image was captured that nobody asked for";
    tap_ = tap;
    return CollectAttention(*resolved, model_->attention(), tap, kWatched, kGrid);
  }

  static constexpr int kWatched = 1;
  std::unique_ptr<Model> model_;
  const ImageBatch images_{RandomImage(3, 16, 16, 1), RandomImage(3, 12, 20, 2), RandomImage(3, 12, 20, 3)};
  AttentionTap tap_;
};

double Sum(const AttentionMap& map) {
  return std::accumulate(map.values.begin(), map.values.end(), 0.0);
}

TEST_F(CapturedAttention, WeightsAreRowsThatSumToOne) {
  const std::vector<AttentionMap> maps = Maps(Request(v1::WEIGHTS, {0, 2}, {1, 3}));
  ASSERT_EQ(maps.size(), 4U);
  EXPECT_EQ(maps[1].layer, 0);
  EXPECT_EQ(maps[1].head, 3);
  EXPECT_EQ(maps[2].layer, 2);
  for (const AttentionMap& map : maps) {
    ASSERT_EQ(map.rows, 16);
    ASSERT_EQ(map.columns, 16);
    for (int row = 0; row < 16; ++row) {
      const auto first = map.values.begin() + row * 16;
      EXPECT_NEAR(std::accumulate(first, first + 16, 0.0), 1, 1e-5);
    }
  }
}

TEST_F(CapturedAttention, SpatialMapsEqualTheMatrixWithoutTheClassKey) {
  const std::vector<AttentionMap> all = Maps(Request(v1::WEIGHTS, {1}));
  const std::vector<AttentionMap> row = Maps(Request(v1::CLASS_TOKEN_ROW, {1}));
  const std::vector<AttentionMap> mean = Maps(Request(v1::MEAN_OVER_QUERIES, {1}));
  ASSERT_EQ(row[0].rows, kGrid.rows);
  ASSERT_EQ(row[0].columns, kGrid.columns);
  EXPECT_EQ(row[0].head, -1);
  for (int key = 1; key < 16; ++key) {
    EXPECT_FLOAT_EQ(row[0].values[key - 1], all[0].values[key]);
    double sum = 0;
    for (int query = 0; query < 16; ++query) sum += all[0].values[query * 16 + key];
    EXPECT_NEAR(mean[0].values[key - 1], sum / 16, 1e-6);
  }
  EXPECT_NEAR(Sum(row[0]) + all[0].values[0], 1, 1e-5);
}

TEST_F(CapturedAttention, RolloutEqualsTheProductOverLayers) {
  const std::vector<AttentionMap> maps = Maps(Request(v1::ROLLOUT));
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].layer, -1);
  at::Tensor product = at::eye(16);
  for (int layer = 2; layer >= 0; --layer) {
    product = at::matmul(
        product, (TensorOf(tap_.Find(kWatched, AttentionSource::kTokens, layer)->weights).mean(0) + at::eye(16)) / 2);
  }
  EXPECT_NEAR(Sum(maps[0]) + product[0][0].item<double>(), 1, 1e-5);
  for (int key = 1; key < 16; ++key) {
    EXPECT_NEAR(maps[0].values[key - 1], product[0][key].item<float>(), 1e-6);
  }
}

TEST_F(CapturedAttention, AQueryRowEqualsItsRowOfTheMatrix) {
  const std::vector<AttentionMap> all = Maps(Request(v1::WEIGHTS, {1}, {2}));
  v1::AttentionRequest request = Request(v1::QUERY_ROW, {1}, {2});
  request.set_query(7);
  const std::vector<AttentionMap> row = Maps(request);
  ASSERT_EQ(row[0].values.size(), 15U);
  for (int key = 1; key < 16; ++key) EXPECT_EQ(row[0].values[key - 1], all[0].values[8 * 16 + key]);
}

TEST_F(CapturedAttention, DistanceHasOneValuePerLayerAndHead) {
  const std::vector<AttentionMap> maps = Maps(Request(v1::DISTANCE, {0, 2}, {3, 1}));
  ASSERT_EQ(maps.size(), 1U);
  ASSERT_EQ(maps[0].rows, 2);
  ASSERT_EQ(maps[0].columns, 2);
  const FloatArray& weights = tap_.Find(kWatched, AttentionSource::kTokens, 2)->weights;
  EXPECT_FLOAT_EQ(maps[0].values[2], static_cast<float>(AttentionDistance(weights[3], kGrid, 1, 4, false)));
  EXPECT_FLOAT_EQ(maps[0].values[3], static_cast<float>(AttentionDistance(weights[1], kGrid, 1, 4, false)));
}

// Fills an AttentionTap with one layer's factors, as a model without softmax does.
TEST(Factors, GiveTheSameMapsAsTheirProduct) {
  AttentionAbility ability{.prefix_tokens = 0, .cell = 4, .diverging = true};
  for (const v1::AttentionKind kind : {v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS}) {
    ability.offers.push_back({.kind = kind, .layers = 1, .heads = 2});
  }
  const at::Tensor queries = at::randn({2, 15, 6}), keys = at::randn({2, 15, 6});
  const at::Tensor product = at::matmul(queries, keys.transpose(1, 2));
  AttentionTap tap;
  tap.Put(0, AttentionSource::kTokens, 0,
          {.scores = {}, .weights = {}, .queries = FloatsOf(queries), .keys = FloatsOf(keys)});
  const auto maps = [&](v1::AttentionKind kind, std::vector<int> heads, int query = 0) {
    v1::AttentionRequest request = Request(kind, {0}, std::move(heads));
    request.set_query(query);
    return CollectAttention(*ResolveAttention(request, ability, kGrid), ability, tap, 0, kGrid);
  };
  const AttentionMap mean = maps(v1::MEAN_OVER_QUERIES, {1})[0];
  const AttentionMap row = maps(v1::QUERY_ROW, {1}, 4)[0];
  const AttentionMap heads = maps(v1::WEIGHTS, {})[0];
  EXPECT_TRUE(mean.diverging);
  for (int key = 0; key < 15; ++key) {
    EXPECT_NEAR(mean.values[key], product[1].mean(0)[key].item<float>(), 1e-5);
    EXPECT_NEAR(row.values[key], product[1][4][key].item<float>(), 1e-5);
  }
  const double expected = (product[0][3][5].item<double>() / product[0].abs().max().item<double>() +
                           product[1][3][5].item<double>() / product[1].abs().max().item<double>()) /
                          2;
  EXPECT_NEAR(heads.values[3 * 15 + 5], expected, 1e-5);
}

}  // namespace
}  // namespace vitrine
