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
  // Folder of the state, for resuming, and of the best weights. Created if missing.
  std::filesystem::path work_dir = {};
  // True: resumes from the state in work_dir, if there is one. False: rejects a folder that has a state.
  bool resume = false;
  // Replicas of the model, one thread each, that share every batch. A resumed run has the same bits as an uninterrupted
  // one only with the same number of replicas on the same kind of processor; Train reports a changed number.
  int threads = 1;
  int loader_threads = 1;
  // Number of steps between writes of the state; 0: no such writes. The state is also written at the end of each epoch.
  int64_t save_every_steps = 0;
  // Set to true to stop: after the current step the state is written and Train returns unfinished. With several
  // processes, it is enough to set it in one of them.
  const std::atomic<bool>* stop = nullptr;
  std::vector<Observer*> observers = {};
  // Receives messages for the user, one line at a time.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Group of processes that train together; null: only this one. Rank 0 alone writes to work_dir and has observers; all
  // ranks must be able to read work_dir when they resume.
  Communicator* communicator = nullptr;
  // Called after every step with the position. For tests.
  std::function<void(const RunPosition&)> after_step = nullptr;
};

// Weights at the end of a run that are not its result, measured for comparison.
struct OtherWeights {
  std::string name;  // "raw": without averaging; "last": of the last step, if the result is the best
  std::unique_ptr<Module> model;
};

struct TrainResult {
  std::unique_ptr<Module> model;  // weights to use: averaged if the recipe says so
  std::vector<OtherWeights> others = {};
  RunPosition position;
  bool finished = false;  // false: stopped before the last step or its measurement; the state is in work_dir
  bool is_best = false;   // true: `model` has the best score on held-out samples, and is not from the last step
  std::string data_digest;
  int64_t epoch_samples = 0;  // samples of the epoch that position.loss_sum covers
  // Score of `model` on the test split, if the last step measured it.
  std::optional<Score> score = std::nullopt;
  // The next two count until the state of `model`: the best one if is_best.
  double epochs = 0;      // passes over the training split
  int64_t samples = 0;    // samples seen
  double last_epoch = 0;  // passes over the training split at the last step
};

// ABORTED if a measure is not finite or the loss exceeds absurd_loss: the run has diverged and must not be published.
// The message says how to start again.
absl::Status CheckNotDiverged(const Score& score);

// Sets LibTorch's threads per operator. Train sets 1, since it runs one replica per thread.
void SetComputeThreads(int threads);

// Trains the task's model by the recipe. The result is a function of the recipe's seed, the kind of CPU and the number
// of threads, even if the run is stopped and resumed. INVALID_ARGUMENT: the recipe is inconsistent with itself, the
// model or the data. FAILED_PRECONDITION: the state is beyond the recipe's epochs, or belongs to another run. ABORTED:
// CheckNotDiverged failed, or a loss or gradient is not finite. In the latter case the message names step, epoch and
// the file with the batch, and the last state stays on disk. UNAVAILABLE: another process was lost.
absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Task& task, const TrainOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOOP_H_
