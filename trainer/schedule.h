#ifndef VITRINE_TRAINER_SCHEDULE_H_
#define VITRINE_TRAINER_SCHEDULE_H_

#include <cstdint>

#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// How a recipe's epochs become steps. A last batch that is not full is left out of its epoch (the order differs in
// every epoch, so no picture is left out of the training); a data set smaller than a batch is one batch.
struct StepPlan {
  int64_t batch = 0;            // images per step
  int64_t steps_per_epoch = 0;  // at least 1
  int64_t total_steps = 0;      // at least 1
};
StepPlan PlanSteps(const v1::Recipe& recipe, int64_t data_size);

// The learning rate of step 0 <= step < plan.total_steps. The first step already moves: warm-up over n steps gives
// lr / n, 2 lr / n, ..., lr; the last step of the cosine is just above min_lr.
double LearningRate(const v1::Recipe& recipe, const StepPlan& plan, int64_t step);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCHEDULE_H_
