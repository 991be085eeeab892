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

// Decides from recent results whether helper threads are worth their cost: on cores with other load, waiting at every
// step for a thread without a core loses more than the help gains. Thread-safe.
class HelpRecord {
 public:
  explicit HelpRecord(const Clock& clock) : clock_(clock) {}

  bool IsWorthwhile() const { return absl::ToUnixNanos(clock_.Now()) >= not_before_.load(std::memory_order_relaxed); }
  // Records that a helped batch took `spent`, with a predicted time of `alone` without help. If nothing was gained,
  // help is off for a tenth of a second, doubled at each consecutive failure, up to 13 s.
  void Note(absl::Duration spent, absl::Duration alone);

 private:
  const Clock& clock_;
  std::atomic<int64_t> not_before_ = 0;  // nanoseconds of the clock
  std::atomic<int> in_vain_ = 0;         // consecutive batches that gained nothing
};

// Returns how many more executors are worth waking for a batch that one computes in `alone`, as predicted: as many as
// have enough to do at each step. `largest` is the tokens of the largest image.
int64_t HelpersWorth(absl::Duration alone, int64_t tokens, int64_t largest);

// Idle executors that compute with the owner of the workspace, for the lifetime of this object or until a request waits
// for them. For use by one thread.
class Helpers {
 public:
  // Takes up to `most` executors, which may be zero. Waits at most a fifth of a millisecond for them to join.
  Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Number of executors that compute now, including the calling one.
  int members() const { return team_ == nullptr ? 1 : team_->members(); }

 private:
  engine::Workspace& workspace_;
  std::shared_ptr<engine::Team> team_;  // null: no executor joined
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_
