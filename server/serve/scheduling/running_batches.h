// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/held.h"

namespace vitrine {

class RunningBatches;
// A running batch, which ends when this object is destroyed.
using HeldBatch = Held<RunningBatches, size_t>;

// The running batches of the executors and their predicted ends. Batches of slow images are not included. Thread-safe;
// takes only short locks. Must outlive its HeldBatch objects.
class RunningBatches {
 public:
  // Reserves memory for a batch per executor.
  RunningBatches(int executors, const Clock& clock);
  RunningBatches(const RunningBatches&) = delete;
  RunningBatches& operator=(const RunningBatches&) = delete;

  // Begins a batch. `predicted` is the predicted duration; zero if unknown. The batch may take longer by `error`.
  HeldBatch Begin(absl::Duration predicted, absl::Duration error = absl::ZeroDuration());

  // Returns the remaining time of each running batch, in rising order. A batch is expected to end when its predicted
  // duration plus its error has passed. If it is late by t, it is expected to need another t. The remaining time is
  // never less than the error.
  std::vector<absl::Duration> Left() const;
  // Returns the sum of the predicted durations and errors of all running batches, including the part that has passed.
  absl::Duration Predicted() const;

 private:
  friend HeldBatch;
  struct Slot {
    bool is_used = false;
    absl::Time begin;
    absl::Duration predicted;
    absl::Duration error;
  };

  void Release(size_t slot);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
};

// Returns the time until `executors` executors have done `work` of executor time. `left`: for each busy executor, the
// time until it is free, in rising order. The other executors are free. Zero work counts as done when the first
// executor is free. Pure function; O(left.size()).
absl::Duration TimeUntilDone(absl::Duration work, const std::vector<absl::Duration>& left, int executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_
