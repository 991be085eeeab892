// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LOADER_H_
#define VITRINE_TRAINER_LOADER_H_

#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "trainer/schedule.h"
#include "trainer/task.h"

namespace vitrine {

// Makes the batches that one process takes, from a step on, ahead of time on threads of its own, and hands them out in
// order: plan.accumulate of them for every step. A step's batches lie side by side in the order of the epoch, so
// processes and accumulation change how a step is divided and not what it learns from. The batches do not depend on the
// number of threads. One consumer. The task must outlive the loader; destruction waits for the batches being made.
class BatchLoader {
 public:
  struct Options {
    int threads = 1;
    int ahead = 4;  // batches made before they are asked for; each costs its pixels in memory
    int rank = 0;   // of this process, below plan.processes
  };

  BatchLoader(const Task& task, const StepPlan& plan, int64_t first_step, const Options& options);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  ~BatchLoader();

  // The next batch; blocks until it is made. OUT_OF_RANGE after the last.
  absl::StatusOr<TrainingBatch> Next();
  // How long Next() has waited in all.
  absl::Duration waited() const { return waited_; }

 private:
  void Work();
  int64_t End() const { return plan_.total_steps * plan_.accumulate; }
  bool MayStart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextIsMade() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return made_.contains(wanted_); }

  const Task& task_;
  const StepPlan plan_;
  const Options options_;
  absl::Duration waited_;  // the consumer's

  // Batches are numbered through the run: step * plan.accumulate + the batch within the step.
  Mutex mutex_;
  CondVar changed_;                          // whatever MayStart or NextIsMade look at
  int64_t started_ ABSL_GUARDED_BY(mutex_);  // the next to make
  int64_t wanted_ ABSL_GUARDED_BY(mutex_);   // the next to hand out
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int64_t, absl::StatusOr<TrainingBatch>> made_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOADER_H_
