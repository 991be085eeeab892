// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_STATE_H_
#define VITRINE_TRAINER_STATE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/reference/module.h"
#include "trainer/optimise/optimizer.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Position of a run. Random generators need no state: their numbers are a function of the recipe's seed and the step.
struct RunPosition {
  int64_t step = 0;                           // steps done
  int64_t samples = 0;                        // samples trained on, over all processes
  double seconds = 0;                         // wall time of training over all runs
  double loss_sum = 0;                        // sum of the losses of the unfinished epoch's samples
  int64_t correct = 0;                        // number of correct predictions in the unfinished epoch
  int64_t predictions = 0;                    // number of predictions in the unfinished epoch
  int threads = 0;                            // number of threads of the run that wrote the state
  int processes = 1;                          // number of processes of the run that wrote the state
  int64_t samples_per_step = 0;               // samples per step over all processes
  std::optional<double> best = std::nullopt;  // first measure of the best score so far
  int64_t best_step = 0;                      // step at which `best` was measured
  // True if the state has a best score, but `best` is empty because that score was measured at another image size.
  bool forgot_best = false;
  double epochs = 0;  // epochs planned by the run that wrote the state
  // True if the measurement or the end of the epoch at `step` is due but has not been reported yet.
  bool unmeasured = false;
  // If the position is from PreviousStateFile, the reason why StateFile could not be used; otherwise empty.
  std::string last_fault = {};
};

// Content of a run's state, except its position. `average` may be null.
struct RunParts {
  const v1::Recipe& recipe;
  const std::string& data_digest;
  const Module& model;
  const Module* average = nullptr;
  const Optimizer& optimizer;
};

// Return the path of the last state and the path of the previous state in a work folder.
std::filesystem::path StateFile(const std::filesystem::path& work_dir);
std::filesystem::path PreviousStateFile(const std::filesystem::path& work_dir);

// Returns true if the folder has the last state or the one before it.
bool HasState(const std::filesystem::path& work_dir);

// Returns FAILED_PRECONDITION if the folder has a state and `resume` is false, so that a new run does not overwrite
// that state.
absl::Status CheckWorkFolder(const std::filesystem::path& work_dir, bool resume);

// Creates the folder if missing; FAILED_PRECONDITION if that fails. Writes and removes a test file, and returns
// ReplaceFile's errors. RESOURCE_EXHAUSTED if the disk lacks space for the run's states and best weights.
absl::Status CheckRoomForState(const std::filesystem::path& work_dir, const RunParts& parts);

// Writes weights, moments, position and recipe to StateFile(work_dir), through a temporary file and fsync, so that
// after a crash the old or the new state exists. If the file system has hard links, the replaced state becomes
// PreviousStateFile(work_dir). Exception: if position.last_fault is set, the replaced state is unusable; then
// PreviousStateFile(work_dir) is kept, and last_fault is cleared.
absl::Status SaveState(const std::filesystem::path& work_dir, const RunParts& parts, RunPosition& position);

// Restores the last state exactly or, if it is missing or damaged, the state before it. Changes no file.
// FAILED_PRECONDITION: the run had other data or another recipe, or both states are missing or damaged. Recipes may
// differ only in the fields that Binding in state.cc clears. PERMISSION_DENIED, RESOURCE_EXHAUSTED or UNAVAILABLE: the
// last state cannot be read now. If the recipe measures at another size than the state's recipe, sets forgot_best and
// leaves `best` empty.
absl::StatusOr<RunPosition> RestoreState(const std::filesystem::path& work_dir, const RunParts& parts);

// Returns the recipe of the state that RestoreState would restore, or RestoreState's error if no state can be read.
absl::StatusOr<v1::Recipe> RecipeOfState(const std::filesystem::path& work_dir);

// Atomically writes the weights with the best score to best.safetensors in work_dir.
absl::Status SaveBest(const std::filesystem::path& work_dir, const Module& model);
// Restores the weights that SaveBest wrote. FAILED_PRECONDITION: the file is damaged or is for another model. Other
// errors are those of ReadWholeFile.
absl::Status LoadBest(const std::filesystem::path& work_dir, const Module& model);

// Atomically writes a batch whose loss or gradient is not finite, for debugging. Returns the errors of SaveState.
absl::Status SaveBatch(const std::filesystem::path& file, const TrainingBatch& batch);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_STATE_H_
