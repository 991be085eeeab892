#include "trainer/replicas.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

struct Gradients {
  StepOutcome outcome;
  std::vector<at::Tensor> values;
};

Gradients GradientsWith(int replicas_count) {
  const ColouredSquares data(48, 1);
  const v1::Recipe recipe = SmallRecipe();
  const v1::ModelConfig config = *ConfigOf(recipe);
  const std::unique_ptr<Model> model = *MakeModel(config, 5);
  const auto replicas = Replicas::Make(*model, replicas_count);
  EXPECT_TRUE(replicas.ok()) << replicas.status();
  const TrainingBatch batch =
      *MakeBatch(data, recipe, config.preprocessing(), PlanSteps(recipe, 48), 0, EpochOrder(recipe.seed(), 0, 48));
  Gradients gradients;
  // Twice: what an earlier step left behind must not be added.
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto outcome = (*replicas)->ComputeGradients(batch, {.training = true}, 0.1);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    gradients.outcome = *outcome;
  }
  for (const NamedTensor& parameter : model->Parameters()) {
    gradients.values.push_back(parameter.tensor.grad().clone());
  }
  return gradients;
}

TEST(Replicas, GradientsAreThoseOfOneModel) {
  const Gradients one = GradientsWith(1);
  for (const int count : {2, 3, 40}) {  // 40 are more than the batch has images
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

TEST(Replicas, SeeTheWeightsThatTheOptimizerWrites) {
  const v1::Recipe recipe = SmallRecipe();
  const std::unique_ptr<Model> model = *MakeModel(*ConfigOf(recipe), 5);
  const auto replicas = Replicas::Make(*model, 2);
  ASSERT_TRUE(replicas.ok());
  const ColouredSquares data(48, 1);
  const TrainingBatch batch = *MakeBatch(data, recipe, model->config().preprocessing(), PlanSteps(recipe, 48), 0,
                                         EpochOrder(recipe.seed(), 0, 48));
  ASSERT_TRUE((*replicas)->ComputeGradients(batch, {.training = true}, 0).ok());
  for (const NamedTensor& parameter : model->Parameters()) parameter.tensor.detach().zero_();
  const auto outcome = (*replicas)->ComputeGradients(batch, {.training = true}, 0);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->loss, std::log(3.0), 1e-6) << "zero weights answer a third for each of three classes";
}

}  // namespace
}  // namespace vitrine
