// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_SCHEDULER_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_SCHEDULER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "engine/cpu/team.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_turns.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/running_batches.h"
#include "server/serve/scheduling/waiting_queue.h"

namespace vitrine {

// Requests of one model version that run together.
struct Batch {
  uint64_t id = 0;  // counts from 1
  std::vector<std::unique_ptr<InferenceRequest>> requests;
  std::shared_ptr<engine::Team> team = nullptr;  // to be joined; then there are no requests
  bool is_slow = false;                          // one request, see WaitingRequest::is_slow
  // Its executor counts as busy until this dies. None of what is slow, beside which others run, nor of requests without
  // a place, nor where there was no memory to count it.
  HeldBatch running = {};
};

// The queue between the RPC side and the executors of one device. Thread-safe.
//
// Executors pull; Decide chooses. A request that is cancelled or whose deadline passes while it waits is answered
// without being computed: when it comes to the front, and at the latest at the next sweep.
class Scheduler {
 public:
  // How long a cancelled or expired request may stay in the queue while every executor is busy.
  static constexpr absl::Duration kSweepPeriod = absl::Milliseconds(20);

  // `sweep` false leaves sweeping to the caller (tests with a fake clock).
  Scheduler(const BatchOptions& options, const Clock& clock, bool sweep = true);
  // Requires that no thread is inside NextBatch. Answers what still waits with UNAVAILABLE.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Never blocks, never throws. After Stop the request is answered UNAVAILABLE at once, without memory for its place
  // in the queue RESOURCE_EXHAUSTED.
  void Submit(InferenceRequest request);

  // Blocks until there is a batch, or a team to join. Nothing after Stop, once the queue is empty: the executor ends.
  // All requests are still there if it throws std::bad_alloc.
  std::optional<Batch> NextBatch();

  // For a stand-in: blocks until there is a batch that is not slow, or `wanted` is false and WakeStandIns was called.
  // Nothing then, nor after Stop. Never a team. As NextBatch throws.
  std::optional<Batch> NextQuickBatch(const std::atomic<bool>& wanted);
  // Lets those who wait in NextQuickBatch look again whether they are wanted.
  void WakeStandIns();

  // Sends up to `most` of the executors that wait for work to join `team` and returns how many will come: none while
  // requests wait, nor for want of memory.
  int64_t Recruit(const std::shared_ptr<engine::Team>& team, int64_t most);
  // How many of those who joined teams are wanted back, for requests that wait and that no idle executor will take.
  std::atomic<int64_t>& recalls() { return recalls_; }

  // Answers what is cancelled or expired, and lets waiting executors look at the clock again. As NextBatch throws.
  void Sweep();

  // Takes no more requests, waits until the queue is empty or `drain` has passed, answers the rest with UNAVAILABLE and
  // lets the executors end. Batches taken by then run to their end. Idempotent; a second call may shorten the first.
  void Stop(absl::Duration drain);

  // What waits. `oldest` is the age of the request that waited longest at the last sweep, or came first after it.
  QueueStatus depth() const;
  // Executors that wait for work and are not sent to a team: no team is worth making where there are none.
  int64_t idle() const;

 private:
  using Entry = WaitingQueue::Entry;
  // A request that ends without compute.
  struct Dropped {
    absl::Status status;
    std::unique_ptr<InferenceRequest> request;
  };

  absl::Status Enqueue(InferenceRequest& request);
  int64_t Free() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // idle()
  // For an executor, or where `wanted` is there for a stand-in.
  std::optional<Batch> Next(const std::atomic<bool>* wanted);
  // What is to be done now: takes the batch out of the queues, and what ends without compute.
  void TakeDecided(bool is_stand_in, Batch& batch, std::vector<Dropped>& dropped, absl::Duration& wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As WaitingRequest::own has them.
  std::optional<BatchLimits> OwnLimits(const LoadedModel& model) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first requests of every model, as far as Decide needs them.
  std::vector<WaitingRequest> Front(absl::Time now, bool without_slow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out of a batch what other executors, who wait for work, can run at the same time.
  void LeaveToTheIdle(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out of a batch what is better computed in the one after it (PartOf).
  void LeaveToTheNext(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseIfEmpty(const LoadedModel* model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it runs or was dropped decides whether its caller was given executor time.
  std::unique_ptr<InferenceRequest> Take(const WaitingRequest& waiting, bool runs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Dropped> TakeDead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Dropped> TakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whoever may take what has come, or everybody.
  void NotifyOne();
  void NotifyAll();
  void Answer(std::vector<Dropped> dropped) const;

  const BatchOptions options_;
  const Clock& clock_;

  mutable Mutex mutex_;
  CondVar changed_;                                                            // work for executors
  CondVar changed_for_stand_ins_;                                              // the same for them
  CondVar empty_;                                                              // for Stop
  std::map<const LoadedModel*, WaitingQueue> queues_ ABSL_GUARDED_BY(mutex_);  // none is empty
  CallerTurns turns_ ABSL_GUARDED_BY(mutex_);
  QueueStatus depth_ ABSL_GUARDED_BY(mutex_);      // but for `oldest`
  absl::Duration queued_ ABSL_GUARDED_BY(mutex_);  // what waits will take, without what is slow
  absl::Time oldest_ ABSL_GUARDED_BY(mutex_);
  int64_t idle_ ABSL_GUARDED_BY(mutex_) = 0;                                  // executors that wait for work
  std::vector<std::shared_ptr<engine::Team>> teams_ ABSL_GUARDED_BY(mutex_);  // each for one of them to join
  std::atomic<int64_t> recalls_ = 0;  // zero while nothing waits; written under mutex_, and by teams
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_batch_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::optional<Ticker> sweeper_;  // last: it uses everything above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_SCHEDULER_H_
