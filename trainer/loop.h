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
  // Number of replicas of the model; each has one thread and computes a share of every batch. A resumed run gives
  // bitwise the result of an uninterrupted run only if threads, processes and the kind of CPU have not changed. If the
  // numbers of threads or processes have changed, `say` gets a message.
  int threads = 1;
  int loader_threads = 1;
  // Steps between writes of the state, in addition to those at each measurement and each epoch's end; 0: only those.
  int64_t save_every_steps = 0;
  // Set to true to stop: Train completes the current step, writes the state and returns with `finished` false. With
  // several processes, it is enough to set the flag of one process.
  const std::atomic<bool>* stop = nullptr;
  std::vector<Observer*> observers = {};
  // Receives messages for the user, one line at a time.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Group of processes that train together; null: only this one. Only rank 0 writes the state and the best weights, and
  // only rank 0 should have observers. All ranks must be able to read work_dir when they resume.
  Communicator* communicator = nullptr;
  // Called after every step with the position. Only tests use this.
  std::function<void(const RunPosition&)> after_step = nullptr;
};

// Further weights at the end of a run, to be measured and compared with the result's.
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
  // `epochs` and `samples` count up to the step of `model`, which is the best step if is_best.
  double epochs = 0;      // passes over the training split
  int64_t samples = 0;    // samples seen
  double last_epoch = 0;  // passes over the training split at the last step
};

// Returns ABORTED if a measure is not finite or the loss exceeds absurd_loss: the run has diverged and must not be
// published. The message says how to start again.
absl::Status CheckNotDiverged(const Score& score);

// Sets the number of threads that LibTorch uses per operator. Train sets it to 1, since it runs one replica per thread.
void SetComputeThreads(int threads);

// Trains the task's model by the recipe. The result depends only on the recipe, the task, the kind of CPU and the
// numbers of threads and processes, even if the run is stopped and resumed. INVALID_ARGUMENT: the recipe is
// inconsistent with itself, the model or the data. FAILED_PRECONDITION or RESOURCE_EXHAUSTED: errors of
// CheckWorkFolder, CheckRoomForState and ResumePosition. ABORTED: CheckNotDiverged failed, or a loss or gradient is not
// finite. In the second case, the message names step, epoch and the file with the batch. UNAVAILABLE: another process
// was lost.
absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Task& task, const TrainOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOOP_H_
