// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_
#define VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_

#include <atomic>
#include <memory>

#include "engine/cpu/team.h"
#include "engine/workspace.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Whether help is worth asking for, by what it brought of late: where others run on the cores too, who waits at every
// step for a thread without a core loses more than it gains. Thread-safe.
class HelpRecord {
 public:
  explicit HelpRecord(const Clock& clock) : clock_(clock) {}

  bool IsWorthwhile() const { return absl::ToUnixNanos(clock_.Now()) >= not_before_.load(std::memory_order_relaxed); }
  // A batch that was helped took `spent`, and would have taken `alone` as predicted. Where nothing was gained the next
  // is helped only after a tenth of a second, and twice as long each time, up to 13 s.
  void Note(absl::Duration spent, absl::Duration alone);

 private:
  const Clock& clock_;
  std::atomic<int64_t> not_before_ = 0;  // nanoseconds of the clock
  std::atomic<int> in_vain_ = 0;         // one after the other
};

// How many more executors are worth waking for a batch that one would compute in `alone`, as predicted: as many as have
// enough to do at each step. `largest` are the tokens of its largest picture.
int64_t HelpersWorth(absl::Duration alone, int64_t tokens, int64_t largest);

// Idle executors that compute with the one whose workspace it is, for as long as this lives and no request waits for
// them. One thread's.
class Helpers {
 public:
  // Up to `most` of them, which may be zero. Waits at most a fifth of a millisecond for them to come.
  Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Executors that compute now, the calling one included.
  int members() const { return team_ == nullptr ? 1 : team_->members(); }

 private:
  engine::Workspace& workspace_;
  std::shared_ptr<engine::Team> team_;  // null: nobody came
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_HELPERS_H_
