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
#include "common/mutex.h"
#include "models/engine/cpu/team.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_turns.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/running_batches.h"
#include "server/serve/scheduling/waiting_queue.h"

namespace vitrine {

// Requests of one model version that run together, or a team of threads (engine::Team) to join.
struct Batch {
  uint64_t id = 0;  // number of the batch, counted from 1
  std::vector<std::unique_ptr<InferenceRequest>> requests;
  std::shared_ptr<engine::Team> team = nullptr;  // team to join; set only if there are no requests
  bool is_slow = false;                          // a single slow request (see WaitingRequest::is_slow)
  // The executor counts as busy until this object is destroyed. Empty for a slow request that a second thread runs, and
  // for requests that were not admitted, such as probes.
  HeldBatch running = {};
};

// The queue between the threads that receive requests and the threads that run batches on one device. The threads that
// run batches call NextBatch, which uses Decide to choose a batch. A waiting request that is cancelled or expires is
// answered without compute: when it reaches the front, or at the latest at the next sweep. Thread-safe.
class Scheduler {
 public:
  // Maximum time that a cancelled or expired request stays in the queue while every executor is busy.
  static constexpr absl::Duration kSweepPeriod = absl::Milliseconds(20);

  // `sweep`: true if the scheduler calls Sweep periodically; false in tests with a fake clock, which call Sweep
  // themselves.
  Scheduler(const BatchOptions& options, const Clock& clock, bool sweep = true);
  // Answers waiting requests with UNAVAILABLE. No thread may be in NextBatch.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Adds the request to the queue. Never blocks. After Stop, answers the request at once with UNAVAILABLE.
  void Submit(InferenceRequest request);

  // Blocks until there is a batch of the kind `work` or a team to join; a thread that passes kSlow never joins a team.
  // Returns nullopt after Stop once the queue is empty; the thread must then end.
  std::optional<Batch> NextBatch(BatchKind work = BatchKind::kAll);

  // Sends up to `most` idle executors to join `team`, and returns their number. Sends none while requests wait for
  // executors. For each running slow request, sends one executor less, because the second thread that runs this request
  // uses the core of an executor.
  int64_t SendToTeam(const std::shared_ptr<engine::Team>& team, int64_t most);
  // Returns the number of executors to recall from teams, for waiting requests that no idle executor will take.
  std::atomic<int64_t>& recalls() { return recalls_; }

  // Answers cancelled and expired requests, and wakes waiting executors so that they decide again.
  void Sweep();

  // Stops accepting requests, waits until the queue is empty or `drain` has passed, answers the remaining requests with
  // UNAVAILABLE and lets the executors end. Batches that were already taken are finished. Idempotent; a second call may
  // shorten the wait of the first call.
  void Stop(absl::Duration drain);

  // Returns the totals of the queue. `oldest` is the age of the request that was the oldest at the last sweep. If the
  // queue was empty at that sweep or later, `oldest` is the age of the first request that then entered the empty queue.
  QueueStatus depth() const;
  // Returns the number of idle executors, without those that were assigned to help with another executor's batch.
  int64_t idle() const;

 private:
  using Entry = WaitingQueue::Entry;
  // A request that ends without compute.
  struct Dropped {
    absl::Status status;
    std::unique_ptr<InferenceRequest> request;
  };

  bool Enqueue(Entry& entry);                                          // queues the entry; returns false after Stop
  int64_t Free() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);          // returns idle(); the lock must be held
  int64_t ForExecutors() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // counts the waiting requests for executors
  // Decides on the next batch. Removes its requests, and the requests that end without compute, from the queues.
  void TakeDecided(BatchKind work, Batch& batch, std::vector<Dropped>& dropped, absl::Duration& wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until there may be a batch of the kind `work`, but at most for `wait`.
  void Await(BatchKind work, absl::Duration wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the value of WaitingRequest::own for requests of this model.
  std::optional<BatchLimits> OwnLimits(const LoadedModel& model) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the first requests of every model: as many of them as Decide needs.
  std::vector<WaitingRequest> Front(absl::Time now, BatchKind work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes from `batch` the part that other idle executors can run at the same time.
  void SplitAmongIdle(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes from `batch` the requests that are left to later batches: see PartOf.
  void LimitToPart(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseIfEmpty(const LoadedModel* model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a request from its queue. If `runs`, adds its cost to the executor time given to its caller.
  std::unique_ptr<InferenceRequest> Take(const WaitingRequest& waiting, bool runs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Dropped> TakeDead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Dropped> TakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyAll();
  void Answer(std::vector<Dropped> dropped) const;

  const BatchOptions options_;
  const Clock& clock_;

  mutable Mutex mutex_;
  CondVar changed_;           // notified when there is work for executors
  CondVar changed_for_slow_;  // notified when there is slow work
  // notified when the queue is empty; Stop waits for this
  CondVar empty_;
  std::map<const LoadedModel*, WaitingQueue> queues_ ABSL_GUARDED_BY(mutex_);  // no queue in it is empty
  CallerTurns turns_ ABSL_GUARDED_BY(mutex_);
  QueueStatus depth_ ABSL_GUARDED_BY(mutex_);      // totals of the queue; `oldest` is not set
  absl::Duration queued_ ABSL_GUARDED_BY(mutex_);  // predicted executor time of waiting requests, except slow requests
  int64_t slow_ ABSL_GUARDED_BY(mutex_) = 0;       // number of slow requests that wait
  absl::Time oldest_ ABSL_GUARDED_BY(mutex_);
  int64_t idle_ ABSL_GUARDED_BY(mutex_) = 0;                                  // executors that wait for work
  int64_t idle_slow_ ABSL_GUARDED_BY(mutex_) = 0;                             // threads that wait for slow work
  std::vector<std::shared_ptr<engine::Team>> teams_ ABSL_GUARDED_BY(mutex_);  // one entry per executor that must join
  std::atomic<int64_t> recalls_ = 0;  // written under mutex_, and by teams; zero while no request waits
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_batch_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::optional<Ticker> sweeper_;  // last member: its thread uses the members above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_SCHEDULER_H_
