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
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/fair_share.h"
#include "server/serve/scheduling/place.h"
#include "server/serve/scheduling/recent_work.h"
#include "server/serve/scheduling/rolling_prune.h"

namespace vitrine {

// Requests and bytes that are in use under one limit for each.
struct Holding {
  int64_t requests = 0;
  int64_t bytes = 0;
};
// Use under the same limits: by all callers and by one caller.
struct Holdings {
  Holding all = {};
  Holding own = {};
};

// Totals of the admitted requests, for the server, each model and each caller. Makes no decisions. Not thread-safe.
// O(log n) in the number of recent callers.
class PlaceLedger {
 public:
  // Records that a caller sent a request now, admitted or not.
  void NoteCaller(const std::string& caller, absl::Time now);
  // Returns true if another caller has requests in flight or sent a request within the last minute.
  bool Shares(const std::string& caller, absl::Time now) const;

  // Adds an admitted request.
  void Take(const Place& place, absl::Time now);
  // Records that the request's batch begins: it no longer waits, and its cost no longer counts.
  void BeginWork(Place& place);
  // Records the end of computing, also of a request that never began. Later calls do nothing.
  void EndWork(Place& place);
  // Removes a request; its computing ends if EndWork was not called.
  void Release(const Place& place);

  Holdings OfServer(const std::string& caller) const;
  Holdings OfModel(const Place& place) const;         // for the model and caller of `place`
  absl::Duration waiting() const { return work_; }    // predicted executor time of waiting requests
  int64_t computing() const { return computing_; }    // requests that wait or compute
  size_t callers() const { return callers_.size(); }  // callers that are recent or have requests

  // Work of one caller at the arrival of its request of `priority_class`.
  struct OwnWork {
    absl::Duration before;  // executor time of its waiting requests of this and more urgent classes
    double urgent = 0;      // executor seconds per second of its recent requests of more urgent classes
  };
  OwnWork Own(const std::string& caller, int priority_class, absl::Time now) const;
  // Returns all callers except `asks` as one entry. It counts for at least as much as separate entries would.
  OtherCaller AllOthers(const std::string& asks, absl::Time now) const;
  // Returns the callers except `asks`. The busiest have one entry each; the others share one.
  std::vector<OtherCaller> Others(const std::string& asks, absl::Time now) const;

 private:
  struct CallerWork {
    int64_t requests = 0;                               // number of its admitted requests
    int64_t computing = 0;                              // number of these requests that wait or compute
    std::array<absl::Duration, kPriorityClasses> work;  // executor time of waiting requests, by class
    absl::Duration total;                               // sum of `work`
    std::array<RecentWork, kPriorityClasses> recent;    // by class

    double Rate(absl::Time now,
                int classes = kPriorityClasses) const;  // sum of `recent` rates, most urgent `classes` only
  };
  using Callers = std::map<std::string, CallerWork>;
  // Callers by the executor time of their waiting requests, largest first.
  using Busiest = std::set<std::pair<absl::Duration, const Callers::value_type*>, std::greater<>>;
  struct Room {
    Holding all;
    std::unordered_map<std::string, Holding> callers;  // only callers with requests

    Holdings Of(const std::string& caller) const;
    void Take(const Place& place);
    void Give(const Place& place);  // undoes Take
  };

  Callers::iterator Account(const std::string& name);
  // Adds `by`, which may be negative, to the predicted work of this caller.
  void Change(Callers::iterator caller, int priority_class, absl::Duration by);

  Room server_;
  std::map<std::shared_ptr<const QueueLimits>, Room> models_;  // models with requests in flight
  absl::Duration work_;
  int64_t computing_ = 0;
  RecentWork recent_;  // sum over all callers
  Callers callers_;
  Busiest busiest_;  // one entry per entry of callers_
  RollingPrune<Callers> prune_;
  // The last caller, the time of its last request, and the time of the last request of any other caller.
  std::string last_caller_;
  absl::Time last_asked_ = absl::InfinitePast();
  absl::Time other_asked_ = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_PLACE_LEDGER_H_
