// SPDX-License-Identifier: Apache-2.0
#include "trainer/replicas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "tests/trainer/coloured_squares.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

struct Gradients {
  StepOutcome outcome;
  std::vector<at::Tensor> values;
};

v1::Recipe WithoutDropout() {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_seed(5);
  recipe.set_dropout(0);
  return recipe;
}

TrainingBatch FirstBatch(const ImageTask& task) {
  const std::vector<Member> members = task.EpochMembers(0);
  return *task.MakeBatch(0, 0, std::span(members).first(16));
}

Gradients GradientsWith(int replicas_count) {
  const ColouredSquares data(48, 1);
  const auto task = *ImageTask::Make(WithoutDropout(), data, nullptr);
  const std::unique_ptr<Module> model = *task->MakeModel();
  model->RequireGrad(true);
  const auto replicas = Replicas::Make(*task, *model, replicas_count);
  EXPECT_TRUE(replicas.ok()) << replicas.status();
  const TrainingBatch batch = FirstBatch(*task);
  Gradients gradients;
  // The second pass checks that the gradients of the first pass are not added.
  for (int repeat = 0; repeat < 2; ++repeat) {
    (*replicas)->ClearGradients();
    const auto outcome = (*replicas)->AddGradients(batch, {.training = true});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    gradients.outcome = *outcome;
  }
  for (const NamedTensor& parameter : model->Parameters()) {
    gradients.values.push_back(parameter.tensor.grad().clone());
  }
  return gradients;
}

TEST(Replicas, GradientsEqualThoseOfOneModel) {
  const Gradients one = GradientsWith(1);
  for (const int count : {2, 3, 40}) {  // 40 is more than the images of the batch
    SCOPED_TRACE(count);
    const Gradients several = GradientsWith(count);
    EXPECT_NEAR(several.outcome.loss, one.outcome.loss, 1e-5);
    EXPECT_EQ(several.outcome.correct, one.outcome.correct);
    ASSERT_EQ(several.values.size(), one.values.size());
    for (size_t i = 0; i < one.values.size(); ++i) {
      const double largest = one.values[i].abs().max().item<double>();
      EXPECT_LE(several.values[i].sub(one.values[i]).abs().max().item<double>(), 1e-5 + 1e-4 * largest) << i;
    }
  }
}

TEST(Replicas, AddGradientsWithTheWeightOfTheBatch) {
  const ColouredSquares data(48, 1);
  const auto task = *ImageTask::Make(WithoutDropout(), data, nullptr);
  const std::unique_ptr<Module> model = *task->MakeModel();
  model->RequireGrad(true);
  const auto replicas = *Replicas::Make(*task, *model, 2);
  const TrainingBatch batch = FirstBatch(*task);
  ASSERT_TRUE(replicas->AddGradients(batch, {.training = true}).ok());
  const at::Tensor& gradient = model->Parameters()[0].tensor.grad();
  const at::Tensor once = gradient.clone();
  ASSERT_TRUE(replicas->AddGradients(batch, {.training = true}, 0.5).ok());
  EXPECT_LE(gradient.sub(once.mul(1.5)).abs().max().item<double>(), 1e-6);
}

TEST(Replicas, ShareTheWeightsOfTheOptimizer) {
  const ColouredSquares data(48, 1);
  v1::Recipe recipe = WithoutDropout();
  recipe.set_label_smoothing(0);
  const auto task = *ImageTask::Make(recipe, data, nullptr);
  const std::unique_ptr<Module> model = *task->MakeModel();
  model->RequireGrad(true);
  const auto replicas = *Replicas::Make(*task, *model, 2);
  const TrainingBatch batch = FirstBatch(*task);
  ASSERT_TRUE(replicas->AddGradients(batch, {.training = true}).ok());
  for (const NamedTensor& parameter : model->Parameters()) parameter.tensor.detach().zero_();
  const auto outcome = replicas->AddGradients(batch, {.training = true});
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->loss, std::log(3.0), 1e-6) << "zero weights answer a third for each of three classes";
}

}  // namespace
}  // namespace vitrine
