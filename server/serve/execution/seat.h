// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
#define VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_

#include <atomic>

#include "absl/time/time.h"
#include "base/give_way.h"
#include "base/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// What an executor and its stand-in share. While the executor is at a slow picture it lends the seat: the stand-in
// takes what is quick, and the executor gives way whenever the stand-in works. So no more threads work than there are
// executors, but for the moment until a slow one looks up, and nobody waits for what one picture decodes and draws.
// The executor keeps a quarter of the seat whatever comes. Thread-safe.
class Seat : public WayGiver {
 public:
  // The longest that the executor waits at a time, however long it ran alone before.
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(50);

  explicit Seat(const Clock& clock) : clock_(clock) {}

  // Of the executor, around a slow picture, and while the seat is lent.
  void Lend();
  void TakeBack();
  void GiveWay() override;

  // Of the stand-in. Blocks until the seat is lent once more; false after End.
  bool AwaitLent();
  // Whether it still is.
  const std::atomic<bool>& lent() const { return lent_; }
  // Around a batch.
  void Begin();
  void Finish();

  // No stand-in is wanted any more.
  void End();

 private:
  const Clock& clock_;
  std::atomic<bool> lent_ = false;
  std::atomic<bool> working_ = false;  // the stand-in
  // Touched by the executor alone.
  absl::Time since_;        // when it went on
  absl::Duration allowed_;  // how long it may wait for what it ran

  Mutex mutex_;
  CondVar changed_;
  int lendings_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_ ABSL_GUARDED_BY(mutex_) = 0;  // of the lendings, by the stand-in
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_SEAT_H_
