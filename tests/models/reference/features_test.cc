// SPDX-License-Identifier: Apache-2.0
#include "models/features.h"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::RandomImage;

v1::FeatureRequest Request(v1::FeatureKind kind) {
  v1::FeatureRequest request;
  request.set_kind(kind);
  return request;
}

TEST(ResolveFeature, MakesTheEncodingExplicitAndRefusesMissingFeatures) {
  const FeatureAbility ability{{v1::CLASS_TOKEN, v1::MEAN_TOKEN}, 24};
  EXPECT_EQ(ResolveFeature(Request(v1::CLASS_TOKEN), ability)->encoding(), v1::FEATURE_FLOAT32);
  const absl::Status lacking = ResolveFeature(Request(v1::PATCH_TOKENS), ability).status();
  EXPECT_EQ(lacking.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(lacking.message()), AllOf(HasSubstr("PATCH_TOKENS"), HasSubstr("CLASS_TOKEN, MEAN_TOKEN")));
  EXPECT_THAT(std::string(ResolveFeature(Request(v1::CLASS_TOKEN), {}).status().message()), HasSubstr("no features"));
  v1::FeatureRequest encoding = Request(v1::CLASS_TOKEN);
  encoding.set_encoding(static_cast<v1::FeatureEncoding>(77));
  EXPECT_THAT(std::string(ResolveFeature(encoding, ability).status().message()), HasSubstr("77"));
}

// Without classes, a model's result is its projection.
TEST(CollectFeature, ReturnsTheProjection) {
  const std::unique_ptr<Model> model = testing::MakeHashed(testing::Config(
      "preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } vit { patch: 4 width: 24 "
      "depth: 2 heads: 4 mlp_width: 48 grid_rows: 4 grid_columns: 4 input_norm: true projection: 6 }"));
  const ImageBatch images{RandomImage(3, 16, 16, 1), RandomImage(3, 12, 20, 2)};
  TokenTap tokens;
  tokens.Request(StageOf(v1::PROJECTION));
  const at::Tensor vectors = *RunModel(*model, images, nullptr, &tokens);
  EXPECT_EQ(model->features().kinds.front(), v1::PROJECTION);
  EXPECT_EQ(ValuesOf(Request(v1::PROJECTION), model->features(), {3, 5}), 6);
  const FeatureMap second = CollectFeature(Request(v1::PROJECTION), tokens, 1);
  ASSERT_EQ(second.values.size(), 6U);
  for (int c = 0; c < 6; ++c) EXPECT_EQ(second.values[c], vectors[1][c].item<float>());
}

// The head reads the class token's features: multiplied by the head's weights, they give the logits.
TEST(CollectFeature, ReturnsTheInputOfTheHead) {
  const std::unique_ptr<Model> model = testing::MakeHashed(
      testing::Config("classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } "
                      "vit { patch: 4 width: 24 depth: 2 heads: 4 mlp_width: 48 grid_rows: 4 grid_columns: 4 }"));
  const ImageBatch images{RandomImage(3, 16, 16, 1), RandomImage(3, 12, 20, 2)};
  TokenTap tokens;
  tokens.Request(TokenTap::kFinal);
  const at::Tensor logits = *RunModel(*model, images, nullptr, &tokens);
  at::Tensor weight, bias;
  for (const NamedTensor& named : model->Parameters()) {
    if (named.name == "head.weight") weight = named.tensor;
    if (named.name == "head.bias") bias = named.tensor;
  }
  const auto feature = [&](v1::FeatureKind kind) {
    return CollectFeature(*ResolveFeature(Request(kind), model->features()), tokens, 1);
  };
  const FeatureMap row = feature(v1::CLASS_TOKEN);
  ASSERT_EQ(row.values.size(), 24U);
  for (int index = 0; index < 5; ++index) {
    double logit = bias[index].item<double>();
    for (int c = 0; c < 24; ++c) logit += weight[index][c].item<double>() * row.values[c];
    EXPECT_NEAR(logits[1][index].item<double>(), logit, 1e-4);
  }
  const FeatureMap patches = feature(v1::PATCH_TOKENS);
  EXPECT_EQ(patches.rows, 3);
  EXPECT_EQ(patches.columns, 5);
  ASSERT_EQ(patches.values.size(), 15U * 24);
  const FeatureMap mean = feature(v1::MEAN_TOKEN);
  for (int c = 0; c < 24; ++c) {
    double sum = 0;
    for (int token = 0; token < 15; ++token) sum += patches.values[token * 24 + c];
    EXPECT_NEAR(mean.values[c], sum / 15, 1e-5);
  }
  EXPECT_EQ(ValuesOf(Request(v1::PATCH_TOKENS), model->features(), {3, 5}), 15 * 24);
  EXPECT_EQ(ValuesOf(Request(v1::CLASS_TOKEN), model->features(), {3, 5}), 24);
}

}  // namespace
}  // namespace vitrine
