// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RESUME_H_
#define VITRINE_TRAINER_RESUME_H_

#include "absl/status/statusor.h"
#include "trainer/loop.h"
#include "trainer/optimise/schedule.h"
#include "trainer/state.h"

namespace vitrine {

// Restores the state in options.work_dir and returns its position, or `start` if there is no state. The fields
// `processes` and `samples_per_step` are those of `start`; so is `threads` if the run has steps left. Calls
// options.say with a line about the resumed step, a line for each relevant difference between this run and the run that
// wrote the state, and a warning if PreviousStateFile is used. FAILED_PRECONDITION: the state has another number of
// samples per step, or more steps than the plan. Other errors are those of RestoreState.
absl::StatusOr<RunPosition> ResumePosition(const TrainOptions& options, const RunParts& parts, const StepPlan& plan,
                                           const RunPosition& start);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RESUME_H_
