// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/held.h"

namespace vitrine {

class RunningBatches;
// One batch that runs; it has ended when this dies.
using HeldBatch = Held<RunningBatches, size_t>;

// The batches that run now, each on one executor, and when each is predicted to end. Thread-safe; never blocks beyond a
// short lock. Outlives what is held of it.
class RunningBatches {
 public:
  // Takes memory for two batches an executor, whose stand-in may run one beside its own.
  RunningBatches(int executors, const Clock& clock);
  RunningBatches(const RunningBatches&) = delete;
  RunningBatches& operator=(const RunningBatches&) = delete;

  // A batch begins that is predicted to take `predicted`; zero where nobody knows. Throws std::bad_alloc where more run
  // than there was memory taken for.
  HeldBatch Begin(absl::Duration predicted);

  // For each batch that runs, the time until its executor is free; ascending. A batch that has run for longer than
  // predicted is taken to need as long again as it is late: the longer nobody knows, the longer it may take.
  std::vector<absl::Duration> Left() const;
  // Executor time of those that run, what has passed of it too.
  absl::Duration Predicted() const;

 private:
  friend HeldBatch;
  struct Slot {
    bool is_used = false;
    absl::Time begin;
    absl::Duration predicted;
  };

  void Release(size_t slot);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
};

// When `work` of executor time is done by `executors`, of which some are busy for `left` (ascending) first and the
// others are free: zero work is done when the first of them is free. Pure; O(left.size()).
absl::Duration TimeUntilDone(absl::Duration work, const std::vector<absl::Duration>& left, int executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_RUNNING_BATCHES_H_
