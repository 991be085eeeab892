// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Position in the schedule and the schedule's length, in steps.
struct Clock {
  double now = 0;
  double end = 0;
  double warmup = 0;
};

Clock ClockOf(const v1::Schedule& schedule, const StepPlan& plan, int64_t step) {
  const double epoch = static_cast<double>(plan.steps_per_epoch);
  const double warmup = static_cast<double>(schedule.warmup_steps()) + schedule.warmup_epochs() * epoch;
  return {static_cast<double>(step), static_cast<double>(plan.total_steps), std::round(warmup)};
}

// Returns a value on half a period of a cosine: `from` if `share` is 0, `to` if `share` is 1.
double HalfCosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

// Returns the value of fastai's fit_one_cycle: half a cosine from `start` to `top` over the first quarter of the steps,
// then half a cosine from `top` to `end`.
double OneCycle(double start, double top, double end, const Clock& clock) {
  constexpr double kRising = 0.25;
  const double share = clock.now / clock.end;
  return share < kRising ? HalfCosine(start, top, share / kRising)
                         : HalfCosine(top, end, (share - kRising) / (1 - kRising));
}

// Returns the rate of timm's CosineLRScheduler. timm calls the scheduler after each epoch with that epoch's index, here
// called the tick. The first epoch, before any call, also has tick 0, so the first two epochs have the same rate. The
// cosine also begins at tick 0, not after the warm-up, so the warm-up replaces the first part of the cosine.
double TimmCosine(const v1::Schedule& schedule, const StepPlan& plan, int64_t step, double highest) {
  const int64_t epoch = step / plan.steps_per_epoch;
  const double tick = static_cast<double>(std::max<int64_t>(0, epoch - 1));
  if (tick < schedule.warmup_epochs()) {
    const double from = std::min(schedule.warmup_from(), highest);
    return from + (highest - from) * tick / schedule.warmup_epochs();
  }
  const double epochs = std::ceil(static_cast<double>(plan.total_steps) / static_cast<double>(plan.steps_per_epoch));
  return HalfCosine(highest, std::min(schedule.min_lr(), highest), tick / epochs);
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

std::string LeftOutInWords(const StepPlan& plan, int64_t data_size) {
  const int64_t left_out = data_size - plan.steps_per_epoch * plan.samples_per_step();
  if (left_out == 0) return "";
  return absl::StrCat("each epoch leaves out ", left_out, " of ", data_size,
                      " samples, other ones each time: they do not fill a step of ", plan.samples_per_step());
}

bool WarmsUpToTheEnd(const v1::Recipe& recipe, const StepPlan& plan) {
  const Clock clock = ClockOf(recipe.schedule(), plan, 0);
  return clock.warmup > 0 && clock.warmup >= clock.end;
}

double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step) {
  const v1::Schedule& schedule = recipe.schedule();
  const double scale = recipe.optimizer().per_512() ? static_cast<double>(plan.samples_per_step()) / 512 : 1;
  const double highest = recipe.optimizer().lr() * scale;
  const Clock clock = ClockOf(schedule, plan, step);
  if (schedule.kind() == v1::Schedule::ONE_CYCLE) return OneCycle(highest / 25, highest, highest / 1e5, clock);
  if (schedule.kind() == v1::Schedule::TIMM_COSINE) return TimmCosine(schedule, plan, step, highest);
  if (schedule.kind() == v1::Schedule::WARMUP_TIMES_COSINE) {
    return HalfCosine(highest, 0, clock.now / clock.end) * std::min(1.0, clock.now / std::max(1.0, clock.warmup));
  }
  if (clock.now < clock.warmup) {
    const double from = std::min(schedule.warmup_from(), highest);
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
      return HalfCosine(highest, std::min(schedule.min_lr(), highest),
                        (clock.now - clock.warmup) / std::max(1.0, clock.end - clock.warmup));
  }
}

std::optional<double> CycledBeta1(const v1::Recipe& recipe, const StepPlan& plan, int64_t step) {
  if (recipe.schedule().kind() != v1::Schedule::ONE_CYCLE) return std::nullopt;
  return OneCycle(0.95, 0.85, 0.95, ClockOf(recipe.schedule(), plan, step));
}

}  // namespace vitrine
