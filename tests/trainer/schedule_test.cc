// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "trainer/recipe/recipe.h"

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

TEST(PlanSteps, OmitsTheIncompleteStepOfAnEpoch) {
  const StepPlan plan = *PlanSteps(Recipe(), 109);
  EXPECT_EQ(plan.batch, 10);
  EXPECT_EQ(plan.steps_per_epoch, 10);
  EXPECT_EQ(plan.total_steps, 25);
}

TEST(PlanSteps, ASmallDataSetIsOneBatch) {
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

TEST(LearningRate, WarmUpCanBeInEpochs) {
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

TEST(PlanSteps, ASmallerStepIsReported) {
  v1::Recipe recipe;
  recipe.set_batch(128);
  recipe.set_accumulate(8);
  recipe.set_epochs(1);
  EXPECT_THAT(SmallerStepWarning(recipe, *PlanSteps(recipe, 48), 48),
              ::testing::StartsWith("a step takes 48 samples, the recipe sets 1024: there are only 48 to train on"));
  EXPECT_EQ(SmallerStepWarning(recipe, *PlanSteps(recipe, 1024), 1024), "");
}

TEST(PlanSteps, OmittedSamplesAreReported) {
  v1::Recipe recipe;
  recipe.set_batch(8);
  recipe.set_epochs(1);
  EXPECT_EQ(LeftOutInWords(*PlanSteps(recipe, 22), 22),
            "each epoch leaves out 6 of 22 samples, other ones each time: they do not fill a step of 8");
  EXPECT_EQ(LeftOutInWords(*PlanSteps(recipe, 24), 24), "");
}

TEST(LearningRate, ScalesWithTheSamplesOfAStep) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_optimizer()->set_per_512(true);
  recipe.mutable_schedule()->set_min_lr(0.01);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 4), 10.0 / 512);
  EXPECT_GT(LearningRate(recipe, plan, plan.total_steps - 1), 0.01) << "min_lr is not scaled";
}

TEST(LearningRate, WarmUpCanStartAtAGivenRate) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_warmup_from(0.6);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, *PlanSteps(recipe, 100), 0), 0.7);
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

// Learning rates (and fastai's momenta) that were recorded from the programs whose recipes we reproduce.
const std::map<std::string, std::vector<double>>& Goldens() {
  static const std::map<std::string, std::vector<double>> goldens = {
#include "tests/golden/schedules.inc"
  };
  return goldens;
}

// Each golden rate holds for `stride` steps. Compares it with the rates of the first and the last of these steps, with
// a relative tolerance of 1e-7.
void ExpectRates(const v1::Recipe& recipe, const StepPlan& plan, const std::string& golden, int64_t stride) {
  const std::vector<double>& rates = Goldens().at(golden);
  ASSERT_EQ(plan.total_steps, static_cast<int64_t>(rates.size()) * stride);
  for (int64_t i = 0; i < static_cast<int64_t>(rates.size()); ++i) {
    for (const int64_t step : {i * stride, (i + 1) * stride - 1}) {
      EXPECT_NEAR(LearningRate(recipe, plan, step), rates[i], rates[i] * 1e-7) << golden << " at step " << step;
    }
  }
}

TEST(LearningRate, AgreesWithTheReleasedLogOfEit) {
  // The released log is from a training on ImageNet with the rate 1e-3 per 512 images and steps of 1,024 images. It has
  // one rate per epoch. In this test, an epoch has three steps, which must all have this rate.
  v1::Recipe recipe = *FindRecipe("xcit-imagenet");
  recipe.set_epochs(300);
  recipe.set_batch(128);
  recipe.set_accumulate(8);
  recipe.mutable_optimizer()->set_lr(1e-3);
  ExpectRates(recipe, *PlanSteps(recipe, 3 * 1024), "eit-log", 3);
}

TEST(LearningRate, AgreesWithTimmForXcit) {
  const v1::Recipe recipe = *FindRecipe("xcit-imagenet");
  ExpectRates(recipe, *PlanSteps(recipe, 2 * 4096), "timm", 2);
}

TEST(LearningRate, AgreesWithFastaiForNumbers) {
  v1::Recipe recipe = *FindRecipe("numbers");
  const StepPlan plan = *PlanSteps(recipe, 4 * recipe.batch());
  ExpectRates(recipe, plan, "fastai", 1);
  const std::vector<double>& momenta = Goldens().at("fastai-momentum");
  for (int64_t step = 0; step < plan.total_steps; ++step) {
    EXPECT_NEAR(*CycledBeta1(recipe, plan, step), momenta[step], 1e-7) << step;
  }
  recipe.mutable_schedule()->set_kind(v1::Schedule::COSINE);
  EXPECT_EQ(CycledBeta1(recipe, plan, 0), std::nullopt);
}

TEST(LearningRate, AgreesWithTheAuthorsForDigits) {
  const v1::Recipe recipe = *FindRecipe("task-reverse");
  ExpectRates(recipe, *PlanSteps(recipe, 30 * recipe.batch()), "digits", 1);
}

TEST(LearningRate, IsBelowTheMinimumForASmallStep) {
  v1::Recipe recipe = *FindRecipe("xcit-imagenet");
  recipe.set_accumulate(1);
  recipe.set_batch(1);
  const StepPlan plan = *PlanSteps(recipe, 10);
  for (const int64_t step : {int64_t{0}, int64_t{100}, plan.total_steps - 1}) {
    EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, step), 5e-4 / 512) << "below warmup_from and min_lr";
  }
}

TEST(LearningRate, FallsWithTheInverseSquareRootOfTheStep) {
  v1::Recipe recipe = Recipe();
  recipe.mutable_schedule()->set_kind(v1::Schedule::INVERSE_SQUARE_ROOT);
  const StepPlan plan = *PlanSteps(recipe, 100);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 3), 1);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, plan, 15), 0.5);
}

}  // namespace
}  // namespace vitrine
