// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
#define VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_

#include <atomic>

#include "absl/time/time.h"
#include "common/give_way.h"
#include "common/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// State shared by an executor and its stand-in. While the executor processes a slow image it lends the seat: the
// stand-in takes quick batches, and the executor pauses whenever the stand-in works. So no more threads work than there
// are executors, except until a slow one reaches its next GiveWay, and quick requests do not wait for a slow image. The
// executor always keeps a quarter of the time. Thread-safe.
class Seat : public WayGiver {
 public:
  // Longest single pause of the executor, however long it ran before.
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(50);

  explicit Seat(const Clock& clock) : clock_(clock) {}

  // For the executor: Lend and TakeBack around a slow image, GiveWay in between.
  void Lend();
  void TakeBack();
  void GiveWay() override;

  // For the stand-in: blocks until the seat is lent again; false after End.
  bool AwaitLent();
  // True while the seat is lent.
  const std::atomic<bool>& lent() const { return lent_; }
  // For the stand-in, around a batch.
  void Begin();
  void Finish();

  // Ends the stand-in.
  void End();

 private:
  const Clock& clock_;
  std::atomic<bool> lent_ = false;
  std::atomic<bool> working_ = false;  // the stand-in works
  // Used by the executor only.
  absl::Time since_;        // time at which it last continued
  absl::Duration allowed_;  // pause that it has earned by running

  Mutex mutex_;
  CondVar changed_;
  int lendings_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_ ABSL_GUARDED_BY(mutex_) = 0;  // value of lendings_ last seen by the stand-in
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
