// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LOADER_H_
#define VITRINE_TRAINER_LOADER_H_

#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "trainer/optimise/schedule.h"
#include "trainer/task.h"

namespace vitrine {

// Prefetches the batches of one process on its own threads, beginning at a given step. Next returns the batches in
// order, plan.accumulate per step. The batches of a step are consecutive in the epoch's order, so plan.processes and
// plan.accumulate change how a step is divided, but not its samples. Batches do not depend on the number of threads.
// Only one thread may call Next. The task must outlive the loader. The destructor waits for batches in progress.
class BatchLoader {
 public:
  struct Options {
    int threads = 1;
    int ahead = 4;  // number of prefetched batches; each needs memory for its pixels
    int rank = 0;   // rank of this process, below plan.processes
  };

  BatchLoader(const Task& task, const StepPlan& plan, int64_t first_step, const Options& options);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  ~BatchLoader();

  // Waits for the next batch and returns it. OUT_OF_RANGE: there are no more batches. Other errors are those of
  // Task::MakeBatch.
  absl::StatusOr<TrainingBatch> Next();
  // Total time that Next has waited for batches.
  absl::Duration waited() const { return waited_; }

 private:
  void Work();
  int64_t End() const { return plan_.total_steps * plan_.accumulate; }
  bool MayStart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextIsMade() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return made_.contains(wanted_); }

  const Task& task_;
  const StepPlan plan_;
  const Options options_;
  absl::Duration waited_;  // used only by the thread that calls Next

  // The number of a batch in the run is step * plan.accumulate + its index within the step.
  Mutex mutex_;
  CondVar changed_;                          // signals changes of the state that MayStart or NextIsMade reads
  int64_t started_ ABSL_GUARDED_BY(mutex_);  // number of the next batch to make
  int64_t wanted_ ABSL_GUARDED_BY(mutex_);   // number of the next batch to return
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int64_t, absl::StatusOr<TrainingBatch>> made_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOADER_H_
