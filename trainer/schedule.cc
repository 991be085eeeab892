#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitrine {

StepPlan PlanSteps(const v1::Recipe& recipe, int64_t data_size) {
  StepPlan plan;
  plan.batch = std::min<int64_t>(recipe.batch(), data_size);
  plan.steps_per_epoch = std::max<int64_t>(1, data_size / plan.batch);
  plan.total_steps = std::max<int64_t>(1, std::llround(recipe.epochs() * plan.steps_per_epoch));
  return plan;
}

double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step) {
  const v1::Schedule& schedule = recipe.schedule();
  const double highest = recipe.optimizer().lr();
  const int64_t warmup =
      schedule.warmup_steps() + std::llround(schedule.warmup_epochs() * static_cast<double>(plan.steps_per_epoch));
  if (step < warmup) return highest * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double progress =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<int64_t>(1, plan.total_steps - warmup));
  return schedule.min_lr() + (highest - schedule.min_lr()) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace vitrine
