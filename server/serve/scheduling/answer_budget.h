// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_BUDGET_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_BUDGET_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/held.h"

namespace vitrine {

class AnswerBudget;

// Bytes reserved for one answer.
struct AnswerRoom {
  int64_t bytes = 0;
  absl::Time since;
};
// Reserved room. If the answer is never made, the room is cancelled, and does not affect the mean time until answers
// are read.
using HeldRoom = Held<AnswerBudget, AnswerRoom>;

// Limits the bytes of planned or finished answers that clients have not read yet, over the whole process, because a
// client may request large answers and not read them. Thread-safe; must outlive its HeldRoom objects.
class AnswerBudget {
 public:
  AnswerBudget(int64_t limit, const Clock& clock) : limit_(limit), clock_(clock) {}
  AnswerBudget(const AnswerBudget&) = delete;
  AnswerBudget& operator=(const AnswerBudget&) = delete;

  // Reserves `bytes`. Returns RESOURCE_EXHAUSTED (ShedReason::kAnswers) if the reserved bytes would then exceed the
  // limit. The error's retry delay is the time until enough room is free, if clients read answers at the mean rate so
  // far. If nothing is reserved, any size is admitted.
  absl::StatusOr<HeldRoom> Reserve(int64_t bytes);

  // Corrects the reservation to the answer's actual size. Does nothing if `room` is empty.
  static void Resize(HeldRoom& room, int64_t bytes);

  int64_t reserved() const;
  int64_t limit() const { return limit_; }

 private:
  friend HeldRoom;
  void Release(const AnswerRoom& room);
  void Cancel(const AnswerRoom& room);

  const int64_t limit_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration mean_stay_ ABSL_GUARDED_BY(mutex_);  // moving average of the time from Reserve to Release
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_BUDGET_H_
