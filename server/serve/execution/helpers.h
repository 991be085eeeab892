// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_
#define VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_

#include <atomic>
#include <memory>

#include "models/engine/cpu/team.h"
#include "models/engine/workspace.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Decides from recent batches if helper threads are worth their cost. If other processes use the cores, every step of a
// batch waits for a helper that has no core, so the batch takes longer with helpers. Thread-safe.
class HelpRecord {
 public:
  explicit HelpRecord(const Clock& clock) : clock_(clock) {}

  bool IsWorthwhile() const { return absl::ToUnixNanos(clock_.Now()) >= not_before_.load(std::memory_order_relaxed); }
  // Records that a helped batch took `spent`; `alone` is its predicted time without help. If there was no gain, help is
  // off for 0.1 s; this time doubles with each consecutive batch without a gain, up to 13 s.
  void Note(absl::Duration spent, absl::Duration alone);

 private:
  const Clock& clock_;
  std::atomic<int64_t> not_before_ = 0;  // time before which helpers are not used, in nanoseconds of `clock_`
  std::atomic<int> in_vain_ = 0;         // number of consecutive helped batches without a gain
};

// Returns the number of other executors that are worth waking. Each executor must get enough work in every step of the
// computation. `alone` is the predicted compute time of the batch on one executor; `largest` is the number of tokens of
// the batch's largest image.
int64_t HelpersWorth(absl::Duration alone, int64_t tokens, int64_t largest);

// Idle executors that help the owner of the workspace to compute. They leave when this object is destroyed, or earlier
// if waiting requests need them. For use by one thread.
class Helpers {
 public:
  // Takes up to `most` executors (may be zero). Waits at most a fifth of a millisecond for them to join.
  Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Returns the number of executors that compute now, including the calling thread.
  int members() const { return team_ == nullptr ? 1 : team_->members(); }

 private:
  engine::Workspace& workspace_;
  std::shared_ptr<engine::Team> team_;  // null: no executor joined
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_
