// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

TEST(PlanEvaluation, CoversTheSizeAndCropsCentrally) {
  const v1::Preprocessing preprocessing = ConfigOf(SmallRecipe())->preprocessing();
  const auto same = PlanEvaluation(preprocessing, {32, 32}, Size{32, 24});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->scaled, (Size{32, 32}));
  EXPECT_EQ(same->left, 4);
  EXPECT_EQ(same->top, 0);
  EXPECT_EQ(same->input, (Size{32, 24}));
  const auto larger = PlanEvaluation(preprocessing, {32, 32}, Size{40, 48});
  ASSERT_TRUE(larger.ok());
  EXPECT_EQ(larger->scaled, (Size{48, 48}));
  EXPECT_EQ(larger->top, 4);
}

TEST(PlanEvaluation, ACropRemovesAShareOfTheBorder) {
  const v1::Preprocessing preprocessing = ConfigOf(SmallRecipe())->preprocessing();
  const auto geometry = PlanEvaluation(preprocessing, {300, 400}, Size{224, 224}, 0.875);
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->scaled, (Size{256, 341}));
  EXPECT_EQ(geometry->top, 16);
  EXPECT_EQ(geometry->input, (Size{224, 224}));
}

TEST(ReadForEvaluation, DecodesLikeTheServer) {
  v1::Preprocessing preprocessing = ConfigOf(SmallRecipe())->preprocessing();
  const ColouredSquares data(3, 2);
  const Image whole = *data.image(1);
  const Size size = {whole.height / 4, whole.width / 4};
  const auto full = ReadForEvaluation(data, 1, preprocessing, size);
  preprocessing.set_decode(v1::Preprocessing::REDUCED);
  const auto reduced = ReadForEvaluation(data, 1, preprocessing, size);
  ASSERT_TRUE(full.ok() && reduced.ok()) << full.status() << reduced.status();
  EXPECT_EQ(full->image.pixels, whole.pixels);
  EXPECT_EQ(reduced->image.height, whole.height / 2);
  EXPECT_EQ(reduced->geometry.original, (Size{whole.height, whole.width}));
  EXPECT_EQ(reduced->geometry.scaled, full->geometry.scaled);
}

TEST(Evaluate, DoesNotDependOnBatchesAndThreads) {
  const std::unique_ptr<Model> model = *MakeModel(*ConfigOf(SmallRecipe()), 3);
  const ColouredSquares data(50, 2);
  const auto one = Evaluate(*model, data, Size{16, 16}, {.batch = 50, .threads = 1});
  const auto many = Evaluate(*model, data, Size{16, 16}, {.batch = 7, .threads = 3});
  ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
  EXPECT_EQ(one->images, 50);
  EXPECT_EQ(one->correct, many->correct);
  EXPECT_NEAR(one->loss, many->loss, 1e-5);
}

TEST(Evaluate, CollectsTheFeaturesThatTheHeadReads) {
  const std::unique_ptr<Model> model = *MakeModel(*ConfigOf(SmallRecipe()), 3);
  const ColouredSquares data(20, 2);
  at::Tensor features, alone;
  // The images have several sizes, and each batch sorts its images by size.
  ASSERT_TRUE(Evaluate(*model, data, std::nullopt, {.batch = 7, .threads = 3, .features = &features}).ok());
  ASSERT_TRUE(Evaluate(*model, data, std::nullopt, {.batch = 1, .features = &alone}).ok());
  ASSERT_EQ(features.sizes(), at::IntArrayRef({20, model->features().width}));
  EXPECT_TRUE(at::allclose(features, alone, 1e-4, 1e-5));
  // The head is linear, so its weight and bias turn a feature into logits.
  at::Tensor weight, bias;
  for (const NamedTensor& parameter : model->Parameters()) {
    if (parameter.name == "head.weight") weight = parameter.tensor;
    if (parameter.name == "head.bias") bias = parameter.tensor;
  }
  std::vector<int> predicted;
  ASSERT_TRUE(Evaluate(*model, data, std::nullopt, {.predicted = &predicted}).ok());
  const at::Tensor classes = at::argmax(at::linear(features, weight, bias), 1);
  for (int64_t i = 0; i < data.size(); ++i) EXPECT_EQ(classes[i].item<int64_t>(), predicted[i]) << i;
}

TEST(Evaluate, CollectsTheProjectionOfTheModel) {
  v1::ModelConfig config = *ConfigOf(SmallRecipe());
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_patch(4);
  vit.set_width(8);
  vit.set_depth(1);
  vit.set_heads(2);
  vit.set_mlp_width(16);
  vit.set_grid_rows(4);
  vit.set_grid_columns(4);
  vit.set_input_norm(true);
  vit.set_projection(12);
  vit.set_cosine_head(true);
  const std::unique_ptr<Model> model = *MakeModel(config, 3);
  const ColouredSquares data(9, 2);
  at::Tensor features;
  std::vector<int> predicted;
  ASSERT_TRUE(Evaluate(*model, data, Size{16, 16}, {.batch = 4, .predicted = &predicted, .features = &features}).ok());
  ASSERT_EQ(features.sizes(), at::IntArrayRef({9, 12}));
  // The head reads the direction of the projection, not its length.
  at::Tensor weight;
  for (const NamedTensor& parameter : model->Parameters()) {
    if (parameter.name == "head.weight") weight = parameter.tensor;
  }
  ASSERT_TRUE(weight.defined());
  const at::Tensor classes = at::argmax(at::linear(features, weight), 1);
  for (int64_t i = 0; i < data.size(); ++i) EXPECT_EQ(classes[i].item<int64_t>(), predicted[i]) << i;
}

TEST(Evaluate, RefusesASizeThatTheModelDoesNotAccept) {
  const std::unique_ptr<Model> model = *MakeModel(*ConfigOf(SmallRecipe()), 3);
  const auto accuracy = Evaluate(*model, ColouredSquares(9, 2), Size{3, 3}, {.batch = 3, .threads = 2});
  EXPECT_EQ(accuracy.status().code(), absl::StatusCode::kInvalidArgument) << accuracy.status();
}

TEST(Evaluate, EndsWhenItIsStopped) {
  const std::unique_ptr<Model> model = *MakeModel(*ConfigOf(SmallRecipe()), 3);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(Evaluate(*model, ColouredSquares(9, 2), std::nullopt, {.stop = &stop}).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace vitrine
