// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCHEDULE_H_
#define VITRINE_TRAINER_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// How a recipe's epochs become steps. Batches that do not fill a step are left out of their epoch (the order differs in
// every epoch, so no sample is left out of the training).
struct StepPlan {
  int64_t batch = 0;            // samples of a batch
  int accumulate = 1;           // batches of a step that one process takes
  int processes = 1;            // that share every step
  int64_t steps_per_epoch = 0;  // at least 1
  int64_t total_steps = 0;      // at least 1

  int64_t batches_per_step() const { return int64_t{accumulate} * processes; }
  int64_t samples_per_step() const { return batch * batches_per_step(); }
};

// A data set smaller than a step makes smaller batches. INVALID_ARGUMENT if it has fewer samples than a step has
// batches.
absl::StatusOr<StepPlan> PlanSteps(const v1::Recipe& recipe, int64_t data_size, int processes = 1);

// What people should know of a step that takes fewer samples than the recipe asks for; empty where it does not.
std::string SmallerStepInWords(const v1::Recipe& recipe, const StepPlan& plan, int64_t data_size);

// Whether the rate never comes down, because the warm-up is as long as the run.
bool WarmsUpToTheEnd(const v1::Recipe& recipe, const StepPlan& plan);

// The learning rate of step 0 <= step < plan.total_steps. The first step already moves: warm-up over n steps from 0
// gives lr / n, 2 lr / n, ..., lr; the last step of the cosine is just above min_lr.
double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCHEDULE_H_
