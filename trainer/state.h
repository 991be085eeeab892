// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_STATE_H_
#define VITRINE_TRAINER_STATE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "reference/module.h"
#include "trainer/optimizer.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Where a run stands. Randomness needs no state of its own: it is a function of the recipe's seed and the step.
struct RunPosition {
  int64_t step = 0;                           // steps done
  int64_t samples = 0;                        // seen, over all processes
  double seconds = 0;                         // wall time of training over all runs
  double loss_sum = 0;                        // over the samples of the unfinished epoch
  int64_t correct = 0;                        // of the unfinished epoch's predictions
  int64_t predictions = 0;                    // of the unfinished epoch
  int threads = 0;                            // of the run that wrote the state
  int processes = 1;                          // of the run that wrote the state
  int64_t samples_per_step = 0;               // over all processes; a count of steps means nothing without it
  std::optional<double> best = std::nullopt;  // the first measure of the best score so far
  int64_t best_step = 0;                      // when it was measured
  double epochs = 0;                          // that the run which wrote the state was to have
  // The measurement or the end of the epoch that belongs to `step` is still to come.
  bool unmeasured = false;
};

// What makes up a run's state beside its position. `average` is null without one.
struct RunParts {
  const v1::Recipe& recipe;
  const std::string& data_digest;
  const Module& model;
  const Module* average = nullptr;
  const Optimizer& optimizer;
};

// The state file of a work folder.
std::filesystem::path StateFile(const std::filesystem::path& work_dir);

// FAILED_PRECONDITION if the folder holds a state and `resume` is false: a run is not overwritten by accident.
absl::Status CheckWorkFolder(const std::filesystem::path& work_dir, bool resume);

// FAILED_PRECONDITION or RESOURCE_EXHAUSTED if the folder cannot be made or written, or its disk has no room for states
// of such parts. Call it before the first step.
absl::Status CheckRoomForState(const std::filesystem::path& work_dir, const RunParts& parts);

// Writes weights, moments, position and recipe to StateFile(work_dir), through a temporary file and fsync: a crash
// leaves the old state or the new one. The state before stays as state.previous.safetensors, where there are hard
// links.
absl::Status SaveState(const std::filesystem::path& work_dir, const RunParts& parts, const RunPosition& position);

// Restores what SaveState wrote, bit by bit. FAILED_PRECONDITION, with a sentence, if the state is of another recipe
// (`epochs`, how a step is divided, what is measured and texts may differ), of other data, or damaged.
absl::StatusOr<RunPosition> RestoreState(const std::filesystem::path& work_dir, const RunParts& parts);

// The weights with the best score, beside the state: best.safetensors. As atomic as the state.
absl::Status SaveBest(const std::filesystem::path& work_dir, const Module& model);
// FAILED_PRECONDITION if the file is missing, damaged, or of another model.
absl::Status LoadBest(const std::filesystem::path& work_dir, const Module& model);

// Writes a file of tensors atomically; errors as SaveState.
absl::Status SaveTensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_STATE_H_
