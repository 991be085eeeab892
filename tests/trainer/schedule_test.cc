// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/schedule.h"

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
  const StepPlan plan = *PlanSteps(Recipe(), 109);
  EXPECT_EQ(plan.batch, 10);
  EXPECT_EQ(plan.steps_per_epoch, 10);
  EXPECT_EQ(plan.total_steps, 25);
}

TEST(PlanSteps, SmallSetIsOneBatch) {
  const StepPlan plan = *PlanSteps(Recipe(), 3);
  EXPECT_EQ(plan.batch, 3);
  EXPECT_EQ(plan.steps_per_epoch, 1);
  EXPECT_EQ(plan.total_steps, 3) << "2.5 epochs round to 3 steps";
}

TEST(LearningRate, RisesLinearlyThenFollowsTheCosine) {
  const StepPlan plan = *PlanSteps(Recipe(), 100);  // 25 steps: 4 of warm-up, 21 of cosine
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
  EXPECT_DOUBLE_EQ(LearningRate(recipe, *PlanSteps(recipe, 100), 6), 0.5) << "4 steps and one epoch of 10";
}

TEST(PlanSteps, CountsEveryBatchOfAStep) {
  v1::Recipe recipe = Recipe();
  recipe.set_accumulate(3);
  const StepPlan plan = *PlanSteps(recipe, 200, /*processes=*/2);
  EXPECT_EQ(plan.samples_per_step(), 60);
  EXPECT_EQ(plan.steps_per_epoch, 3);
  EXPECT_EQ(PlanSteps(recipe, 5, 2).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LearningRate, ScalesWithTheSamplesOfAStep) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_optimizer()->set_per_512(true);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 4), 10.0 / 512);
}

TEST(LearningRate, WarmsUpFromARate) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_warmup_from(0.6);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, *PlanSteps(recipe, 100), 0), 0.7);
}

TEST(LearningRate, StaysForAnEpoch) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_warmup_steps(0);
  recipe.mutable_schedule()->set_per_epoch(true);
  recipe.set_epochs(4);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 0), 1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 9), 1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 20), 0.55) << "half of the cosine";
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 29), 0.55);
}

TEST(LearningRate, FallsAtMilestones) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_kind(v1::Schedule::MULTI_STEP);
  recipe.mutable_schedule()->add_milestones(1);
  recipe.mutable_schedule()->add_milestones(1.5);
  recipe.mutable_schedule()->set_gamma(0.5);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 9), 1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 10), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 15), 0.25);
  recipe.mutable_schedule()->set_kind(v1::Schedule::CONSTANT);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 24), 1);
}

// Expected values from torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=20), PyTorch 2.11.
TEST(LearningRate, OneCycleIsPyTorchs) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->Clear();
  recipe.mutable_schedule()->set_kind(v1::Schedule::ONE_CYCLE);
  recipe.set_epochs(2);
  const StepPlan plan = *PlanSteps(recipe, 100);
  const std::pair<int64_t, double> rates[] = {{0, 0.04},           {2, 0.3716718427},    {5, 1},
                                              {6, 0.987464006235}, {10, 0.716943001791}, {15, 0.18825834605},
                                              {19, 4e-06}};
  for (const auto& [step, rate] : rates) EXPECT_NEAR(LearningRate(recipe, plan, step), rate, 1e-9) << step;
}

TEST(LearningRate, FallsWithTheRootOfTheStep) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_kind(v1::Schedule::INVERSE_SQUARE_ROOT);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 3), 1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 15), 0.5);
}

}  // namespace
}  // namespace vitrine
