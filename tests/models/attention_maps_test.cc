#include "models/attention_maps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/models/pictures.h"

namespace vitrine {
namespace {

using testing::Difference;
using ::testing::HasSubstr;
using testing::Picture;

const AttentionAbility kAbility{{v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::WEIGHTS}, 3, 4};

v1::AttentionRequest Request(v1::AttentionKind kind, std::vector<int> layers = {}, std::vector<int> heads = {}) {
  v1::AttentionRequest request;
  request.set_kind(kind);
  request.mutable_layers()->Assign(layers.begin(), layers.end());
  request.mutable_heads()->Assign(heads.begin(), heads.end());
  return request;
}

std::string Refusal(const v1::AttentionRequest& request, const AttentionAbility& ability = kAbility) {
  const absl::Status status = ResolveAttention(request, ability).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ResolveAttention, MakesDefaultsExplicitAndLayersPositive) {
  const auto resolved = ResolveAttention(Request(v1::WEIGHTS), kAbility);
  ASSERT_TRUE(resolved.ok());
  EXPECT_THAT(resolved->layers(), ::testing::ElementsAre(2));
  EXPECT_TRUE(resolved->heads().empty());
  EXPECT_EQ(resolved->encoding(), v1::FLOAT16);
  EXPECT_THAT(ResolveAttention(Request(v1::WEIGHTS, {-3, 1}), kAbility)->layers(), ::testing::ElementsAre(0, 1));
}

TEST(ResolveAttention, RefusalsNameTheFaultAndTheWayOut) {
  EXPECT_THAT(Refusal(Request(v1::SCORES)), AllOf(HasSubstr("SCORES"), HasSubstr("CLASS_TOKEN_ROW, MEAN_OVER")));
  EXPECT_THAT(Refusal(Request(v1::ATTENTION_KIND_UNSPECIFIED)), HasSubstr("UNSPECIFIED"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {3})), AllOf(HasSubstr("layer 3"), HasSubstr("0 to 2")));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {-4})), HasSubstr("layer -4"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {0}, {4})), AllOf(HasSubstr("head 4"), HasSubstr("0 to 3")));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS, {0, -3})), HasSubstr("twice"));
  EXPECT_THAT(Refusal(Request(v1::ROLLOUT, {0})), HasSubstr("all layers"));
  EXPECT_THAT(Refusal(Request(v1::WEIGHTS), {}), HasSubstr("no attention"));
  v1::AttentionRequest overlay = Request(v1::WEIGHTS);
  overlay.set_encoding(v1::OVERLAY_PNG);
  EXPECT_THAT(Refusal(overlay), HasSubstr("does not lie on the picture"));
}

TEST(SizeOf, CountsMapsAndValues) {
  const Grid grid{3, 5};
  EXPECT_EQ(SizeOf(Request(v1::ROLLOUT), grid, 1).values_per_map, 15);
  const AttentionSize weights = SizeOf(Request(v1::WEIGHTS, {0, 1}, {0, 1, 2}), grid, 1);
  EXPECT_EQ(weights.maps, 6);
  EXPECT_EQ(weights.values_per_map, 256);
  EXPECT_EQ(SizeOf(Request(v1::CLASS_TOKEN_ROW, {0}), grid, 1).maps, 1);
}

// A ViT of which one image is watched, in a batch with another size.
class Captured : public ::testing::Test {
 protected:
  Captured()
      : model_(testing::MakeHashed(testing::Config(
            "classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } "
            "vit { patch: 4 width: 24 depth: 3 heads: 4 mlp_width: 48 grid_rows: 4 grid_columns: 4 }"))) {}

  std::vector<AttentionMap> Maps(const v1::AttentionRequest& request) {
    const auto resolved = ResolveAttention(request, model_->attention());
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    AttentionTap tap;
    RequestAttention(*resolved, model_->attention(), kWatched, tap);
    const auto logits = RunModel(*model_, images_, &tap);
    EXPECT_TRUE(logits.ok()) << logits.status();
    EXPECT_EQ(Difference(*logits, *RunModel(*model_, images_)), 0) << "watching moved the logits";
    EXPECT_EQ(tap.Find(0, 0), nullptr) << "an image was captured that nobody asked for";
    tap_ = tap;
    return CollectAttention(*resolved, model_->attention(), tap, kWatched, kGrid, 1);
  }

  static constexpr int kWatched = 1;
  static constexpr Grid kGrid{3, 5};
  std::unique_ptr<Model> model_;
  const ImageBatch images_{Picture(3, 16, 16, 1), Picture(3, 12, 20, 2), Picture(3, 12, 20, 3)};
  AttentionTap tap_;
};

double Sum(const AttentionMap& map) {
  return std::accumulate(map.values.begin(), map.values.end(), 0.0);
}

TEST_F(Captured, WeightsAreRowsThatSumToOne) {
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

TEST_F(Captured, SpatialMapsAreTheMatrixWithoutTheClassKey) {
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

TEST_F(Captured, RolloutIsTheProductOverLayers) {
  const std::vector<AttentionMap> maps = Maps(Request(v1::ROLLOUT));
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].layer, -1);
  at::Tensor product = at::eye(16);
  for (int layer = 2; layer >= 0; --layer) {
    product = at::matmul(product, (tap_.Find(kWatched, layer)->weights.mean(0) + at::eye(16)) / 2);
  }
  EXPECT_NEAR(Sum(maps[0]) + product[0][0].item<double>(), 1, 1e-5);
  for (int key = 1; key < 16; ++key) {
    EXPECT_NEAR(maps[0].values[key - 1], product[0][key].item<float>(), 1e-6);
  }
}

}  // namespace
}  // namespace vitrine
