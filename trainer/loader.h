#ifndef VITRINE_TRAINER_LOADER_H_
#define VITRINE_TRAINER_LOADER_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "data/dataset.h"
#include "trainer/schedule.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct TrainingBatch {
  std::vector<at::Tensor> images;  // [channels, height, width] fp32, equal sizes side by side
  at::Tensor labels;               // [images] int64
};

// The batch of one step; a pure function of its arguments.
absl::StatusOr<TrainingBatch> MakeBatch(const Dataset& data, const v1::Recipe& recipe,
                                        const v1::Preprocessing& preprocessing, const StepPlan& plan, int64_t step,
                                        const std::vector<int64_t>& epoch_order);

// Makes the batches of steps first..plan.total_steps - 1 ahead of time, on threads of its own, and hands them out in
// order. The batches do not depend on the number of threads. One consumer. The data set must outlive the loader;
// destruction waits for the batches being made.
class BatchLoader {
 public:
  struct Options {
    int threads = 1;
    int ahead = 4;  // batches made before they are asked for; each costs its pixels in memory
  };

  BatchLoader(const Dataset& data, const v1::Recipe& recipe, const v1::Preprocessing& preprocessing,
              const StepPlan& plan, int64_t first_step, const Options& options);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  ~BatchLoader();

  // The next step's batch; blocks until it is made. OUT_OF_RANGE after the last.
  absl::StatusOr<TrainingBatch> Next();
  // How long Next() has waited in all.
  absl::Duration waited() const { return waited_; }

 private:
  void Work();
  bool MayStart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextIsMade() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return made_.contains(wanted_); }

  const Dataset& data_;
  const v1::Recipe recipe_;
  const v1::Preprocessing preprocessing_;
  const StepPlan plan_;
  const int ahead_;
  absl::Duration waited_;  // the consumer's

  absl::Mutex mutex_;
  int64_t started_ ABSL_GUARDED_BY(mutex_);  // the next step to make
  int64_t wanted_ ABSL_GUARDED_BY(mutex_);   // the next step to hand out
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int64_t, absl::StatusOr<TrainingBatch>> made_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LOADER_H_
