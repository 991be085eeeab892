// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LOOP_H_
#define VITRINE_TRAINER_LOOP_H_

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/communicator.h"
#include "trainer/observer.h"
#include "trainer/state.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct TrainOptions {
  // Holds the state, so that a run can continue, and the best weights. Created if missing.
  std::filesystem::path work_dir = {};
  // Continue from the state in work_dir, if there is one. Without it a folder that holds a state is refused.
  bool resume = false;
  // Replicas of the model, one thread each, that share every batch. A resumed run repeats the interrupted one bit by
  // bit only with the same count on the same kind of processor; another count is said in a line.
  int threads = 1;
  int loader_threads = 1;
  // The state is written after every so many steps besides the end of each epoch. 0: at the ends only.
  int64_t save_every_steps = 0;
  // Becomes true when the run shall end: after the step in hand the state is written and Train returns unfinished. Of
  // several processes one is enough.
  const std::atomic<bool>* stop = nullptr;
  std::vector<Observer*> observers = {};
  // Told what people should know, a line at a time.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // The processes that train together; null: this one alone. Rank 0 alone writes to work_dir, which all must be able to
  // read when they resume, and alone has observers.
  Communicator* communicator = nullptr;
  // Called after every step, with the position. For tests.
  std::function<void(const RunPosition&)> after_step = nullptr;
};

struct TrainResult {
  std::unique_ptr<Module> model;  // the weights to use: averaged if the recipe says so
  RunPosition position;
  bool finished = false;  // false: stopped before the last step; the state is in work_dir
  bool is_best = false;   // the model is that of the best score on held-out samples, not of the last step
  std::string data_digest;
  int64_t epoch_samples = 0;  // of the epoch that position.loss_sum is over
  // Of `model` on the test split, where the last step measured that.
  std::optional<Score> score = std::nullopt;
  double epochs = 0;      // passes over the training split so far; of the best state if is_best
  double last_epoch = 0;  // passes over it at the last step
};

// ABORTED if a measure is not a finite number or the loss is absurd: the run has diverged, and nothing of it shall be
// published. The sentence says how to begin again.
absl::Status RefuseDiverged(const Score& score);

// How many threads LibTorch uses within one operator. Train sets 1, since its replicas are the threads.
void SetComputeThreads(int threads);

// Trains the task's model as the recipe says. Deterministic from the recipe's seed on one kind of CPU at one thread
// count; stopping and resuming changes nothing.
// INVALID_ARGUMENT: a recipe that does not fit itself, the model or the data. FAILED_PRECONDITION: a state that is
// beyond the recipe's epochs, or does not belong to the run. ABORTED: a loss or gradient that is not finite; the
// sentence names step, epoch and the file that holds the batch, and the last state stays on disk; or errors of
// RefuseDiverged. UNAVAILABLE: another process was lost.
absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Task& task, const TrainOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOOP_H_
