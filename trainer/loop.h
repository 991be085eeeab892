#ifndef VITRINE_TRAINER_LOOP_H_
#define VITRINE_TRAINER_LOOP_H_

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "trainer/progress.h"
#include "trainer/state.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct TrainOptions {
  // Holds the state, so that a run can continue, and history.csv. Created if missing.
  std::filesystem::path work_dir = {};
  // Continue from the state in work_dir, if there is one. Without it a folder that holds a state is refused.
  bool resume = false;
  // Replicas of the model, one thread each, that share every batch. A resumed run repeats the interrupted one bit by
  // bit only with the same count on the same kind of processor; another count is said in a line.
  int threads = 1;
  int loader_threads = 1;
  // The state is written after every so many steps besides the end of each epoch. 0: at the ends only.
  int64_t save_every_steps = 0;
  // Becomes true when the run shall end: after the step in hand the state is written and Train returns unfinished.
  const std::atomic<bool>* stop = nullptr;
  // Called after every step, with the position. For tests.
  std::function<void(const RunPosition&)> after_step = nullptr;
};

struct TrainResult {
  std::unique_ptr<Model> model;
  RunPosition position;
  bool finished = false;  // false: stopped before the last step; the state is in work_dir
  std::string data_digest;
  double epochs = 0;  // passes over the training split so far
};

// SHA-256 over the sorted "name\tlabel\n" lines of a split.
std::string DigestOf(const Dataset& data);

// How many threads LibTorch uses within one operator. Train sets 1, since its replicas are the threads.
void SetComputeThreads(int threads);

// Trains the recipe's model. `test`, which may be null, is measured as the recipe's evaluate_every says.
// Deterministic from the recipe's seed on one kind of CPU at one thread count; stopping and resuming changes nothing.
// INVALID_ARGUMENT: a recipe that does not fit itself, the model or the data. ABORTED: a loss that is not finite; the
// sentence names step and epoch, and the last state stays on disk.
absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Dataset& train, const Dataset* test,
                                  const TrainOptions& options, Progress& progress);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOOP_H_
