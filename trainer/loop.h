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
  // Folder for the state, from which a run resumes, and for the best weights. Created if missing.
  std::filesystem::path work_dir = {};
  // True: resumes from the state in work_dir, if there is one. False: rejects a folder that has a state.
  bool resume = false;
  // Number of replicas of the model; each has one thread and computes a share of every batch. A resumed run gives
  // bitwise the same result as an uninterrupted run if threads, processes and the kind of CPU have not changed. If the
  // number of threads or processes has changed, `say` gets a message.
  int threads = 1;
  int loader_threads = 1;
  // Number of steps after which the state is written; 0: no fixed number of steps. The state is also written at each
  // measurement and at each epoch's end.
  int64_t save_every_steps = 0;
  // Set to true to stop: Train completes the current step, writes the state and returns with `finished` false. With
  // several processes, it is enough to set the flag of one process.
  const std::atomic<bool>* stop = nullptr;
  std::vector<Observer*> observers = {};
  // Function that receives messages for the user, one line at a time.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Group of processes that train together; null: this process trains alone. Only rank 0 writes the state and the best
  // weights, and only rank 0 should have observers. All ranks must be able to read work_dir when they resume.
  Communicator* communicator = nullptr;
  // Function that is called after every step with the position. Only tests use it.
  std::function<void(const RunPosition&)> after_step = nullptr;
};

// Other weights at the end of a run. They are measured and compared with the result's weights.
struct OtherWeights {
  std::string name;  // "raw": not averaged; "last": weights of the last step, if the result has the best weights
  std::unique_ptr<Module> model;
};

struct TrainResult {
  std::unique_ptr<Module> model;  // model with the weights to use: averaged if the recipe says so
  std::vector<OtherWeights> others = {};
  RunPosition position;
  bool finished = false;  // false: stopped before the last step or its measurement; work_dir has the state
  bool is_best = false;   // true: `model` is from the step with the best score on held-out samples
  std::string data_digest;
  int64_t epoch_samples = 0;  // number of the epoch's samples in position.loss_sum
  // Score of `model` on the test split, if the last step measured it.
  std::optional<Score> score = std::nullopt;
  // `epochs` and `samples` count up to the step of `model`: the best step if is_best, otherwise the last step.
  double epochs = 0;      // passes over the training split
  int64_t samples = 0;    // samples trained on
  double last_epoch = 0;  // passes over the training split at the last step
};

// Returns ABORTED if a measure is not finite or the loss exceeds absurd_loss: the run has diverged and must not be
// published. The message says how to start again.
absl::Status CheckNotDiverged(const Score& score);

// Sets the number of threads that LibTorch uses per operator. Train sets it to 1, since it runs one replica per thread.
void SetComputeThreads(int threads);

// Trains the task's model by the recipe. The result depends only on the recipe, the task, the kind of CPU and the
// numbers of threads and processes. Stopping and resuming a run does not change the result. INVALID_ARGUMENT: the
// recipe is inconsistent with itself, the model or the data. FAILED_PRECONDITION or RESOURCE_EXHAUSTED: errors of
// CheckWorkFolder, CheckRoomForState and ResumePosition. ABORTED: CheckNotDiverged failed, or a loss or gradient is not
// finite. If a loss or gradient is not finite, the message names the step, the epoch and the file with the batch.
// UNAVAILABLE: another process was lost.
absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Task& task, const TrainOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOOP_H_
