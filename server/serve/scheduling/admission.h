// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/shed.h"
#include "server/serve/scheduling/answer_budget.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_quotas.h"
#include "server/serve/scheduling/held.h"
#include "server/serve/scheduling/place.h"
#include "server/serve/scheduling/place_ledger.h"
#include "server/serve/scheduling/running_batches.h"

namespace vitrine {

struct InferenceRequest;
class Admission;

struct AdmissionOptions {
  // Maximum number of admitted requests whose answers are not completely delivered yet. With a higher limit, more
  // requests can wait, but each of them may wait longer.
  int64_t max_requests = 4096;
  // Maximum total bytes of the images and tensors of admitted requests whose answers are not delivered yet.
  int64_t max_bytes = int64_t{256} << 20;
  // Maximum predicted latency of requests without a deadline.
  absl::Duration max_predicted_wait = absl::Seconds(30);
  // Part of the time to the deadline that the predicted latency may use. It is below 1, because a prediction may be too
  // low by some percent, and a request that misses its deadline would be computed in vain.
  double deadline_share = 0.8;
  // Maximum bytes of planned or finished answers that clients have not read yet: see answer_budget.h.
  int64_t max_answer_bytes = int64_t{512} << 20;
  // Number of executors that share the queue.
  int executors = 1;
  // Maximum tokens in a batch of a model without its own limits. The prediction uses it, because a request may have to
  // wait for a batch of this size.
  int64_t max_batch_tokens = 0;
  // True if batches of models with max_wait 0 are split as described at BatchOptions::executors.
  bool in_parts = false;
  // Time for which later, more urgent requests may overtake a request: see batching_policy.h.
  std::array<absl::Duration, kPriorityClasses> patience = BatchOptions().patience;
};

using HeldPlace = Held<Admission, Place>;

// The resources of an admitted request. Each resource is given back exactly once, at destruction or earlier.
struct Admitted {
  // Removes the request from the predicted work, because it was computed or will never be computed. If `used` is false,
  // gives its quota back as if it had never been taken.
  void Answered(bool used);
  // Gives all resources back as if they had never been taken. Called for a request that CheckRequestLimit or
  // ClassifyService::Admit rejects.
  void Cancel();

  HeldRoom room = {};    // room for the answer
  HeldQuota quota = {};  // place in the caller's quota
  // Place in the queue. This is the last member, so that it is released first. When a client has its answer and sends
  // the next request, the place must be free.
  HeldPlace place = {};
};

// Decides, without blocking, whether a request may enter the queue. Limits the requests and bytes of the server and of
// each model (PlaceLedger), and the predicted time to the answer (answer_time.h). Callers share requests, bytes and
// time as described in fair_share.h. Thread-safe; takes only short locks. O(log n) in the number of recent callers.
// Must outlive its HeldPlace and HeldBatch objects.
class Admission {
 public:
  Admission(const AdmissionOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        quotas_(clock),
        answers_(options.max_answer_bytes, clock),
        running_(options.executors, clock) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Admits the request. Returns RESOURCE_EXHAUSTED (see shed.h) if a limit of the server or of the model is reached, or
  // if the caller's share of such a limit is used up. Also returns RESOURCE_EXHAUSTED if the predicted answer time is
  // too long for the deadline or for max_predicted_wait. The prediction counts four kinds of work: the caller's waiting
  // work of the same or higher priority; more urgent work that the caller is expected to send before the answer, at its
  // recent rate; the turns of other callers; and the rest of the running batches. An idle server admits the request
  // without a prediction: a prediction that is too high would otherwise reject every request and never be corrected.
  // The error's retry delay is the time until the request would be admitted if no other request arrived.
  // DEADLINE_EXCEEDED: the deadline has passed.
  absl::StatusOr<HeldPlace> Admit(const InferenceRequest& request);

  // Begins a batch of at least one request on one executor. Its requests no longer count as waiting, and the executor
  // counts as busy until the returned object is destroyed.
  HeldBatch Begin(std::span<const std::unique_ptr<InferenceRequest>> batch);

  // Checks the request limit of the server and the caller's share of this limit, so that a request can be rejected
  // before its image's header is read. Returns the error of Admit, or OK. Reserves nothing.
  absl::Status CheckRequestLimit(const std::string& caller) const;

  const AdmissionOptions& options() const { return options_; }

  // Return the callers' quotas and the room for answers, which Admit does not reserve.
  CallerQuotas& quotas() { return quotas_; }
  AnswerBudget& answers() { return answers_; }

  // Returns the limits, and the totals of admitted requests whose answers have not been delivered.
  AdmissionStatus load() const;
  size_t callers() const;  // returns the number of callers that have an entry

 private:
  friend HeldPlace;
  friend Admitted;

  // Predicted executor times of batches of a request's model.
  struct BatchTimes {
    absl::Duration longest;
    absl::Duration shortest_part;  // `longest` if batches are not split
  };

  // PlaceOf and BatchTimesOf lock the mutex of the model's cost, so Admit calls them before it locks `mutex_`.
  Place PlaceOf(const InferenceRequest& request) const;
  BatchTimes BatchTimesOf(const InferenceRequest& request) const;
  absl::Status CheckRequests(const Holdings& held, bool shared) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckBytes(const Place& place, const Holdings& held, bool shared) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckModel(const Place& place, bool shared) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTime(const InferenceRequest& request, const Place& place, const BatchTimes& batch, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the remaining executor time predicted for waiting and running requests.
  absl::Duration WorkLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the time until `part` (0 to 1) of the admitted work is done.
  absl::Duration TimeToFree(double part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(const Place& place);
  // Records that the request no longer waits or computes. If its batch never began, also removes its cost from the
  // predicted work.
  void EndWork(Place& place);

  const AdmissionOptions options_;
  const Clock& clock_;
  CallerQuotas quotas_;
  AnswerBudget answers_;
  RunningBatches running_;

  mutable Mutex mutex_;
  PlaceLedger places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_
