// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_SCHEDULE_H_
#define VITRINE_TRAINER_OPTIMISE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Division of a recipe's epochs into steps. An epoch leaves out the samples that do not fill a step. Its order is
// random, so these samples differ from epoch to epoch.
struct StepPlan {
  int64_t batch = 0;            // samples per batch
  int accumulate = 1;           // batches per step and process
  int processes = 1;            // processes that share every step
  int64_t steps_per_epoch = 0;  // at least 1
  int64_t total_steps = 0;      // at least 1

  int64_t batches_per_step() const { return int64_t{accumulate} * processes; }
  int64_t samples_per_step() const { return batch * batches_per_step(); }
};

// Plans the steps. If the data set is smaller than a step, batches are smaller. INVALID_ARGUMENT if a batch would then
// be empty.
absl::StatusOr<StepPlan> PlanSteps(const v1::Recipe& recipe, int64_t data_size, int processes = 1);

// Returns a warning if a step has fewer samples than the recipe sets; otherwise "".
std::string SmallerStepWarning(const v1::Recipe& recipe, const StepPlan& plan, int64_t data_size);

// Returns a sentence about the samples that each epoch leaves out because they do not fill a step; "" if there are
// none.
std::string LeftOutInWords(const StepPlan& plan, int64_t data_size);

// Returns true if the warm-up of the learning rate is at least as long as the run.
bool WarmsUpToTheEnd(const v1::Recipe& recipe, const StepPlan& plan);

// Returns the learning rate of a step, 0 <= step < plan.total_steps; see Schedule.Kind. A warm-up over n steps from 0
// gives lr / n, 2 lr / n, ..., lr for COSINE, CONSTANT, MULTI_STEP and INVERSE_SQUARE_ROOT. For COSINE, the rate of the
// last step is slightly above min_lr.
double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step);

// Returns beta1 of a step for ONE_CYCLE, which changes beta1 together with the learning rate; for other schedules,
// nullopt.
std::optional<double> CycledBeta1(const v1::Recipe& recipe, const StepPlan& plan, int64_t step);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_SCHEDULE_H_
