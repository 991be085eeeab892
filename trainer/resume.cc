// SPDX-License-Identifier: Apache-2.0
#include "trainer/resume.h"

#include <cmath>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "trainer/watch/history.h"

namespace vitrine {
namespace {

// Returns a warning that the run continues from the previous state. If steps.csv has the lost steps, the warning has
// their number.
std::string FallbackInWords(const std::filesystem::path& work_dir, const RunPosition& position) {
  const absl::StatusOr<Steps> steps = ReadSteps(work_dir);
  const bool known = steps.ok() && !steps->rows.empty() && steps->rows.back().step > position.step;
  return absl::StrCat("warning: ", position.last_fault, "; the run continues from ",
                      PreviousStateFile(work_dir).string(), ", step ", position.step,
                      known ? absl::StrCat("; lost steps: ", steps->rows.back().step - position.step) : "");
}

}  // namespace

absl::StatusOr<RunPosition> ResumePosition(const TrainOptions& options, const RunParts& parts, const StepPlan& plan,
                                           const RunPosition& start) {
  if (!HasState(options.work_dir)) {
    if (options.resume)
      options.say(absl::StrCat("no state in ", options.work_dir.string(), "; starting from the beginning"));
    return start;
  }
  ASSIGN_OR_RETURN(RunPosition position, RestoreState(options.work_dir, parts));
  if (!position.last_fault.empty()) options.say(FallbackInWords(options.work_dir, position));
  const std::string file =
      (position.last_fault.empty() ? StateFile(options.work_dir) : PreviousStateFile(options.work_dir)).string();
  const double epochs = static_cast<double>(position.step) / static_cast<double>(plan.steps_per_epoch);
  if (position.samples_per_step != start.samples_per_step) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was written by a run with %d samples per step, this run has %d; if the number of processes changed, set "
        "accumulate so that batch x accumulate x processes stays the same",
        file, position.samples_per_step, start.samples_per_step));
  }
  if (position.step > plan.total_steps) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is at step %d (epoch %.2f), beyond the requested %g epochs; continue it with --epochs %g or more, or start "
        "again in another folder",
        file, position.step, epochs, parts.recipe.epochs(), std::ceil(epochs)));
  }
  options.say(absl::StrFormat("resumed at step %d of %d (epoch %.2f)", position.step, plan.total_steps, epochs));
  if (position.epochs != parts.recipe.epochs()) {
    options.say(absl::StrFormat("epochs %g -> %g: the learning rate schedule uses the new end", position.epochs,
                                parts.recipe.epochs()));
  }
  if (position.forgot_best) {
    options.say("evaluation_sizes differ from those of the state: the best score so far does not count");
  }
  const bool finished = position.step == plan.total_steps;  // no steps are left
  if (!finished && (position.threads != start.threads || position.processes != start.processes)) {
    options.say(
        absl::StrFormat("the state was written by %d processes with %d threads each, now there are %d with %d: the "
                        "result will not be bit-exact",
                        position.processes, position.threads, start.processes, start.threads));
  }
  if (!finished) position.threads = start.threads;
  // Also set for a finished run, because the model card divides samples_per_step by accumulate x processes, and the
  // recipe's `accumulate` was chosen for the new number of processes.
  position.processes = start.processes;
  return position;
}

}  // namespace vitrine
