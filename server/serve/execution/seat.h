// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
#define VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_

#include <atomic>

#include "absl/time/time.h"
#include "common/give_way.h"
#include "common/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// State shared by an executor and its stand-in thread. While the executor processes a slow image, it lends the seat to
// the stand-in, which takes quick batches, so that quick requests do not wait for the slow image. GiveWay pauses the
// executor while the stand-in works, for at most three quarters of the time, so that the two threads rarely compete for
// a core. Thread-safe.
class Seat : public WayGiver {
 public:
  // Longest single pause of the executor, regardless of its run time before.
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(50);

  explicit Seat(const Clock& clock) : clock_(clock) {}

  // For the executor: it calls Lend before a slow image, GiveWay during it and TakeBack after it.
  void Lend();
  void TakeBack();
  void GiveWay() override;

  // For the stand-in: blocks until the seat is lent again. Returns false after End.
  bool AwaitLent();
  // True while the seat is lent.
  const std::atomic<bool>& lent() const { return lent_; }
  // For the stand-in, before and after a batch.
  void Begin();
  void Finish();

  // Makes the stand-in end.
  void End();

 private:
  const Clock& clock_;
  std::atomic<bool> lent_ = false;
  std::atomic<bool> working_ = false;  // true while the stand-in works
  // Used by the executor only.
  absl::Time since_;        // time at which the executor last continued
  absl::Duration allowed_;  // pause that the executor may still take, gained by running

  Mutex mutex_;
  CondVar changed_;
  int lendings_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_ ABSL_GUARDED_BY(mutex_) = 0;  // value of lendings_ last seen by the stand-in
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
