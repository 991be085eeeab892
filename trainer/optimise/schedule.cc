// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Position in the schedule: in steps, or in epochs if the rate changes only with epochs.
struct Clock {
  double now = 0;
  double end = 0;
  double warmup = 0;
};

Clock ClockOf(const v1::Schedule& schedule, const StepPlan& plan, int64_t step) {
  const auto per_epoch = static_cast<double>(plan.steps_per_epoch);
  const double warmup = static_cast<double>(schedule.warmup_steps()) + schedule.warmup_epochs() * per_epoch;
  if (!schedule.per_epoch()) {
    return {static_cast<double>(step), static_cast<double>(plan.total_steps), std::round(warmup)};
  }
  const double epochs = std::ceil(static_cast<double>(plan.total_steps) / per_epoch);
  return {std::floor(static_cast<double>(step) / per_epoch), epochs, std::round(warmup / per_epoch)};
}

// Half a cosine from `from` at share 0 to `to` at share 1.
double HalfCosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

// Follows PyTorch's OneCycleLR with its defaults.
double OneCycle(double highest, const Clock& clock) {
  constexpr double kRising = 0.3, kStart = 25, kEnd = 1e4;
  const double top = kRising * clock.end - 1, last = clock.end - 1;
  const double first = highest / kStart;
  if (clock.now <= top) return HalfCosine(first, highest, top > 0 ? clock.now / top : 1);
  return HalfCosine(highest, first / kEnd, (clock.now - top) / std::max(1e-9, last - top));
}

double AfterMilestones(const v1::Schedule& schedule, const StepPlan& plan, int64_t step, double lr) {
  const double gamma = schedule.has_gamma() ? schedule.gamma() : 0.1;
  for (const double milestone : schedule.milestones()) {
    if (static_cast<double>(step) >= milestone * static_cast<double>(plan.steps_per_epoch)) lr *= gamma;
  }
  return lr;
}

}  // namespace

absl::StatusOr<StepPlan> PlanSteps(const v1::Recipe& recipe, int64_t data_size, int processes) {
  StepPlan plan;
  plan.accumulate = std::max(1, recipe.accumulate());
  plan.processes = processes;
  plan.batch = std::min<int64_t>(recipe.batch(), data_size / plan.batches_per_step());
  if (plan.batch < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a step needs ", plan.batches_per_step(),
                                                   " batches (accumulate x processes), but there are only ", data_size,
                                                   " samples to train on"));
  }
  plan.steps_per_epoch = data_size / plan.samples_per_step();
  plan.total_steps = std::max<int64_t>(1, std::llround(recipe.epochs() * static_cast<double>(plan.steps_per_epoch)));
  return plan;
}

std::string SmallerStepWarning(const v1::Recipe& recipe, const StepPlan& plan, int64_t data_size) {
  if (plan.batch >= recipe.batch()) return "";
  return absl::StrCat(
      "a step takes ", plan.samples_per_step(), " samples, the recipe sets ", recipe.batch() * plan.batches_per_step(),
      ": there are only ", data_size, " to train on, so each of ", plan.batches_per_step(),
      plan.batches_per_step() == 1 ? " batch" : " batches", " has ", plan.batch, " instead of ", recipe.batch(),
      recipe.optimizer().per_512() ? "; the learning rate is reduced accordingly (optimizer.per_512)" : "");
}

bool WarmsUpToTheEnd(const v1::Recipe& recipe, const StepPlan& plan) {
  const Clock clock = ClockOf(recipe.schedule(), plan, 0);
  return clock.warmup > 0 && clock.warmup >= clock.end;
}

double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step) {
  const v1::Schedule& schedule = recipe.schedule();
  const double scale = recipe.optimizer().per_512() ? static_cast<double>(plan.samples_per_step()) / 512 : 1;
  const double highest = recipe.optimizer().lr() * scale, lowest = schedule.min_lr() * scale;
  const Clock clock = ClockOf(schedule, plan, step);
  if (schedule.kind() == v1::Schedule::ONE_CYCLE) return OneCycle(highest, clock);
  if (clock.now < clock.warmup) {
    const double from = schedule.warmup_from() * scale;
    return from + (highest - from) * (clock.now + 1) / clock.warmup;
  }
  switch (schedule.kind()) {
    case v1::Schedule::CONSTANT:
      return highest;
    case v1::Schedule::MULTI_STEP:
      return AfterMilestones(schedule, plan, step, highest);
    case v1::Schedule::INVERSE_SQUARE_ROOT:
      return highest * std::sqrt(std::max(1.0, clock.warmup) / (clock.now + 1));
    default:
      return HalfCosine(highest, lowest, (clock.now - clock.warmup) / std::max(1.0, clock.end - clock.warmup));
  }
}

}  // namespace vitrine
