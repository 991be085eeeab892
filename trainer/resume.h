// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RESUME_H_
#define VITRINE_TRAINER_RESUME_H_

#include "absl/status/statusor.h"
#include "trainer/loop.h"
#include "trainer/optimise/schedule.h"
#include "trainer/state.h"

namespace vitrine {

// Restores the state in options.work_dir and returns its position, or `start` if there is no state. The position has
// the processes and samples per step of `start` and, unless the run has no steps left, also its threads. options.say
// gets a line about the resumed step, one for each difference from the state's run that matters, and a warning if
// PreviousStateFile is used. FAILED_PRECONDITION: the state has other samples per step, or is beyond the planned steps.
// Other errors are those of RestoreState.
absl::StatusOr<RunPosition> ResumePosition(const TrainOptions& options, const RunParts& parts, const StepPlan& plan,
                                           const RunPosition& start);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RESUME_H_
