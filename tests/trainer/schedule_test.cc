#include "trainer/schedule.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

v1::Recipe Recipe() {
  v1::Recipe recipe;
  recipe.set_batch(10);
  recipe.set_epochs(2.5);
  recipe.mutable_optimizer()->set_lr(1.0);
  recipe.mutable_schedule()->set_warmup_steps(4);
  recipe.mutable_schedule()->set_min_lr(0.1);
  return recipe;
}

TEST(PlanSteps, LeavesOutTheRestOfAnEpoch) {
  const StepPlan plan = PlanSteps(Recipe(), 109);
  EXPECT_EQ(plan.batch, 10);
  EXPECT_EQ(plan.steps_per_epoch, 10);
  EXPECT_EQ(plan.total_steps, 25);
}

TEST(PlanSteps, SmallSetIsOneBatch) {
  const StepPlan plan = PlanSteps(Recipe(), 3);
  EXPECT_EQ(plan.batch, 3);
  EXPECT_EQ(plan.steps_per_epoch, 1);
  EXPECT_EQ(plan.total_steps, 3) << "2.5 epochs round to 3 steps";
}

TEST(LearningRate, RisesLinearlyThenFollowsTheCosine) {
  const StepPlan plan = PlanSteps(Recipe(), 100);  // 25 steps, 4 of warm-up, 21 of cosine
  EXPECT_DOUBLE_EQ(LearningRate(Recipe(), plan, 0), 0.25);
  EXPECT_DOUBLE_EQ(LearningRate(Recipe(), plan, 3), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(Recipe(), plan, 4), 1.0);
  // cos(pi * 7 / 21) = 1 / 2.
  EXPECT_NEAR(LearningRate(Recipe(), plan, 11), 0.1 + 0.9 * 0.75, 1e-12);
  for (int64_t step = 5; step < 25; ++step) {
    EXPECT_LT(LearningRate(Recipe(), plan, step), LearningRate(Recipe(), plan, step - 1));
  }
  EXPECT_GT(LearningRate(Recipe(), plan, 24), 0.1);
  EXPECT_LT(LearningRate(Recipe(), plan, 24), 0.11);
}

TEST(LearningRate, WarmUpCountsEpochsToo) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_warmup_epochs(1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, PlanSteps(recipe, 100), 6), 0.5) << "4 steps and one epoch of 10";
}

}  // namespace
}  // namespace vitrine
