// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_PLACE_LEDGER_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_PLACE_LEDGER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_table.h"
#include "server/serve/scheduling/fair_share.h"
#include "server/serve/scheduling/place.h"
#include "server/serve/scheduling/recent_work.h"

namespace vitrine {

// Numbers of requests and bytes that count against a limit.
struct Holding {
  int64_t requests = 0;
  int64_t bytes = 0;

  void Take(const Place& place) {
    requests += 1;
    bytes += place.bytes;
  }
  // Undoes Take.
  void Give(const Place& place) {
    requests -= 1;
    bytes -= place.bytes;
  }
};
// Requests and bytes that count against one limit: the totals of all callers, and those of one caller.
struct Holdings {
  Holding all = {};
  Holding own = {};
};

// Totals of the admitted requests, for the server, each model and each caller. Makes no decisions. Not thread-safe.
// Each function takes O(log n) in the number of recent callers; the function Others takes this time only on average.
class PlaceLedger {
 public:
  // Records that a caller sent a request now, admitted or not.
  void NoteCaller(const std::string& caller, absl::Time now);
  // Returns true if another caller has requests in flight or sent a request in the last minute. `held` must be the
  // result of OfServer for `caller`.
  bool Shares(const std::string& caller, const Holdings& held, absl::Time now) const;
  // Returns the caller's index for the other functions; kNoCaller if the caller has no account. An account exists while
  // the caller has admitted requests, and for some time afterwards.
  CallerId Find(const std::string& caller) const { return accounts_.Find(caller); }

  // Adds an admitted request. If place.caller is kNoCaller, sets it to the index of the new account of `caller`.
  void Take(Place& place, const std::string& caller, absl::Time now);
  // Records that the request's batch begins: the request no longer waits, and its cost is removed from the predicted
  // work.
  void BeginWork(Place& place);
  // Records that the request was computed or will never be computed. Later calls do nothing.
  void EndWork(Place& place);
  // Removes a request. Also has the effect of EndWork if EndWork was not called before.
  void Release(const Place& place);

  Holdings OfServer(CallerId caller) const;
  Holdings OfModel(const Place& place) const;          // returns place.model's totals: of all callers, of place.caller
  absl::Duration waiting() const { return work_; }     // returns the predicted executor time of waiting requests
  int64_t computing() const { return computing_; }     // returns the number of requests that wait or compute
  size_t callers() const { return accounts_.size(); }  // returns the number of callers that have an account

  // Work of one caller when its new request of the class `priority_class` arrives.
  struct OwnWork {
    absl::Duration before;  // executor time of its waiting requests of this and more urgent classes
    double urgent = 0;      // rate of its recent requests of more urgent classes, in executor seconds per second
  };
  OwnWork Own(CallerId caller, int priority_class, absl::Time now) const;
  // Returns all callers except `asks` as one entry, which counts for at least as much as separate entries would.
  OtherCaller AllOthers(CallerId asks, absl::Time now) const;
  // Returns the callers except `asks`. The busiest callers have one entry each; the others share one entry.
  std::vector<OtherCaller> Others(CallerId asks, absl::Time now);

 private:
  struct Account {
    Holding held;                                       // admitted requests of the caller
    int64_t computing = 0;                              // number of these requests that wait or compute
    std::array<absl::Duration, kPriorityClasses> work;  // executor time of its waiting requests, by class
    absl::Duration total;                               // sum of `work`
    absl::Duration listed;                              // executor time in the caller's entry of busiest_
    std::array<RecentWork, kPriorityClasses> recent;    // recent work of the caller, by class
    absl::InlinedVector<std::pair<const QueueLimits*, Holding>, 1> models;  // by model; only models with requests

    double Rate(absl::Time now,
                int classes = kPriorityClasses) const;  // returns the sum of the rates of the most urgent `classes`
  };

  // Returns an empty account for kNoCaller.
  const Account& Of(CallerId caller) const;
  // Adds `by`, which may be negative, to the predicted work of this caller.
  void Change(const Place& place, absl::Duration by);
  // Updates the caller's entry in busiest_.
  void List(CallerId caller);

  Holding server_;
  std::map<std::shared_ptr<const QueueLimits>, Holding> models_;  // models with requests in flight
  absl::Duration work_;
  int64_t computing_ = 0;
  RecentWork recent_;  // recent work of all callers together
  CallerTable<Account> accounts_;
  // Callers by the executor time of their waiting requests, largest first. An entry may be above the caller's true time
  // but never below it. The function Others corrects the entries that it reads, because it is called far less often
  // than the times change.
  std::set<std::pair<absl::Duration, CallerId>, std::greater<>> busiest_;
  // The caller of the latest request, the time of this request, and the time of the latest request of any other caller.
  std::string last_caller_;
  absl::Time last_asked_ = absl::InfinitePast();
  absl::Time other_asked_ = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_PLACE_LEDGER_H_
