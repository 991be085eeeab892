// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/model_limits.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/shed.h"
#include "server/serve/scheduling/answer_budget.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_quotas.h"
#include "server/serve/scheduling/fair_share.h"
#include "server/serve/scheduling/held.h"
#include "server/serve/scheduling/rolling_prune.h"
#include "server/serve/scheduling/running_batches.h"

namespace vitrine {

struct InferenceRequest;
class Admission;

struct AdmissionOptions {
  // Most requests between admission and the end of their answers, which clients have to take. More of them only wait
  // longer.
  int64_t max_requests = 4096;
  // Most bytes of their pictures and tensors.
  int64_t max_bytes = int64_t{256} << 20;
  // Longest predicted time to the answer for requests without a deadline.
  absl::Duration max_predicted_wait = absl::Seconds(30);
  // Part of the time to the deadline that the prediction may use up: predictions are wrong by some percent, and work
  // admitted too late is lost work. 0.8 leaves a fifth.
  double deadline_share = 0.8;
  // Most bytes of answers that are planned or made and not yet taken by their clients: see answer_budget.h.
  int64_t max_answer_bytes = int64_t{512} << 20;
  // Executors that share the queue.
  int executors = 1;
  // Tokens of the longest batch, which a caller whose turn it is may still have to wait for; of models without limits.
  int64_t max_batch_tokens = 0;
  // Whether batches are parts of what waits, as BatchOptions::executors says, of models whose requests wait for no
  // company.
  bool in_parts = false;
  // How long what is more urgent and comes later may overtake a request, see batching_policy.h.
  std::array<absl::Duration, kPriorityClasses> patience = BatchOptions().patience;

  absl::Status Validate() const;  // names the field, the value and the allowed range
};

// What an admitted request takes: its work until it is computed, all else until its answer has been handed over.
struct Place {
  std::string caller;
  std::shared_ptr<const QueueLimits> model;
  int priority_class = 0;
  int64_t bytes = 0;
  absl::Duration cost;       // executor time that was predicted; zero once an executor has begun
  bool is_computed = false;  // or will never be
};
using HeldPlace = Held<Admission, Place>;

// All that a request holds. Each part is given back once, when this dies or before.
struct Admitted {
  // The request was computed, or will not be: its work is none any more. Of its quota, what was not `used` is as if
  // never taken.
  void Answered(bool used);
  // The request is refused because the server is busy: all is as if it had never been taken.
  void Cancel();

  HeldRoom room = {};    // for the answer
  HeldQuota quota = {};  // of its caller
  HeldPlace place = {};  // goes first: a client that sends its next request on the answer must find it free
};

// Decides at once whether a request may wait. Bounded by requests and bytes, for the whole server and for each model,
// and by predicted completion. Callers share places and time as fair_share.h says. Thread-safe; never blocks beyond a
// short lock. O(log n) in the callers of late. Outlives its places.
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

  // RESOURCE_EXHAUSTED (see shed.h) if the server or the model is full or the answer would come after the deadline
  // given what is admitted already: the caller's own work at the same or a higher priority, what it will ask for at a
  // higher one until then at the rate of the last second, and the turns of other callers. DEADLINE_EXCEEDED if the
  // deadline is past. An idle server admits everything: only so a wrong prediction is ever corrected. RetryInfo is the
  // time after which the request would be admitted if nothing else came. No executor is taken to be free before the
  // batch that it runs is predicted to end, whatever that is of.
  absl::StatusOr<HeldPlace> Admit(const InferenceRequest& request);

  // One executor begins with a batch of these requests, one at least: they wait no longer, and the executor is busy
  // until what comes back dies.
  HeldBatch Begin(std::span<const std::unique_ptr<InferenceRequest>> batch);

  // Whether Admit would refuse whatever this caller asks, since the server or the caller's share of it is full of
  // requests: what it asks need not be looked at to be refused. Takes no place.
  absl::Status CheckPlaces(const std::string& caller) const;

  const AdmissionOptions& options() const { return options_; }

  // What each caller uses of its quota, and the room for answers: the other two things that a request needs.
  CallerQuotas& quotas() { return quotas_; }
  AnswerBudget& answers() { return answers_; }

  // What is admitted and whose answer has not been handed over, and the limits.
  AdmissionStatus load() const;
  size_t callers() const;  // that something is kept for

 private:
  friend HeldPlace;
  friend Admitted;
  // Executor time admitted of late: each second ago counts by 1 / e.
  struct Recent {
    absl::Duration work;
    absl::Time at;  // when that was right

    double Rate(absl::Time now) const;  // executor seconds per second
    void Add(absl::Duration cost, absl::Time now);
  };
  struct CallerWork {
    int64_t requests = 0;                               // that hold a place
    int64_t computing = 0;                              // of them, those that wait or compute
    std::array<absl::Duration, kPriorityClasses> work;  // executor time of those that wait, by class
    absl::Duration total;                               // of `work`
    std::array<Recent, kPriorityClasses> recent;        // by class

    absl::Duration UpTo(int priority_class) const;                      // of `work`: of this class and those above it
    double Rate(absl::Time now, int classes = kPriorityClasses) const;  // of the most urgent classes
  };
  using Callers = std::map<std::string, CallerWork>;
  // By executor time of what waits, most first.
  using Busiest = std::set<std::pair<absl::Duration, const Callers::value_type*>, std::greater<>>;
  // What is held of a limit of requests and one of bytes.
  struct Holding {
    int64_t requests = 0;
    int64_t bytes = 0;
  };
  struct Room {
    Holding all;
    std::unordered_map<std::string, Holding> callers;  // none without requests

    Holding Of(const std::string& caller) const;
    void Take(const Place& place);
    void Give(const Place& place);  // what was taken before
  };

  // What is asked for, of whom and until when.
  struct Question {
    Place place;
    absl::Duration limit;  // for the predicted time to the answer
    bool has_deadline = false;
    absl::Duration batch;  // predicted, of the longest
    absl::Duration group;  // and of the shortest that what waits is cut into
  };
  Question QuestionOf(const InferenceRequest& request, absl::Time now) const;

  void NoteAsker(const std::string& caller, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether another caller has requests in flight or asked of late: where none did, this one may take every place.
  bool Shares(const std::string& caller, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRequests(const std::string& caller, bool shared) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckBytes(const Place& place, bool shared) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckModel(const Place& place, bool shared) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTime(const Question& asked, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All callers beside this one, as one: they count with no less than one by one.
  OtherCaller AllOthers(const std::string& asks, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The callers beside this one. However many there are, only the busiest are looked at one by one.
  std::vector<OtherCaller> Others(const std::string& asks, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Executor time that was predicted for what waits and what runs, and has not been spent.
  absl::Duration WorkLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until `part` of what is held is answered.
  absl::Duration TimeToFree(double part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const Place& place, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Callers::iterator Account(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(const Place& place);
  // Takes the place out of the predicted work.
  void EndWork(Place& place);
  // More work of this caller is in flight, or less.
  void Change(Callers::iterator caller, int priority_class, absl::Duration by) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const AdmissionOptions options_;
  const Clock& clock_;
  CallerQuotas quotas_;
  AnswerBudget answers_;
  RunningBatches running_;

  mutable Mutex mutex_;
  Room server_ ABSL_GUARDED_BY(mutex_);
  absl::Duration work_ ABSL_GUARDED_BY(mutex_);    // of what waits
  int64_t computing_ ABSL_GUARDED_BY(mutex_) = 0;  // places that wait or compute
  Recent recent_ ABSL_GUARDED_BY(mutex_);          // of all callers together
  Callers callers_ ABSL_GUARDED_BY(mutex_);        // that ask or asked of late
  Busiest busiest_ ABSL_GUARDED_BY(mutex_);        // each of callers_
  RollingPrune<Callers> prune_ ABSL_GUARDED_BY(mutex_);
  std::map<std::shared_ptr<const QueueLimits>, Room> models_ ABSL_GUARDED_BY(mutex_);  // with requests in flight
  // Who asked last, when, and when last somebody else had: the server's own probe apart.
  std::string last_caller_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_asked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time other_asked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ADMISSION_H_
