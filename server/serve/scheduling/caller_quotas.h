// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/identity/caller.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/caller_table.h"
#include "server/serve/scheduling/held.h"

namespace vitrine {

class CallerQuotas;

// Returns the maximum number of requests that the quota admits at once. This is its burst if a burst is set, otherwise
// the requests of one second, but at least 1. Infinite for a quota without a rate.
double BurstOf(const CallerQuota& quota);

// One request in flight that counts against a caller's quota.
struct QuotaUse {
  CallerId caller = kNoCaller;
  absl::Time since = {};
  bool took_token = false;  // true if the quota has a rate
};
// A QuotaUse that is held while its request is in flight. If the server is busy and rejects the request, the use is
// cancelled, so that the rejected request uses no quota.
using HeldQuota = Held<CallerQuotas, QuotaUse>;

// Counts the use of each caller's quota: a token bucket for the rate, and a counter for requests in flight. Each call
// of Admit passes the caller's quota, so a reloaded policy applies from the next request on. Thread-safe; takes only
// short locks. Entries of callers with a full bucket and no request in flight are erased later. Must outlive its
// HeldQuota objects.
class CallerQuotas {
 public:
  explicit CallerQuotas(const Clock& clock) : clock_(clock) {}
  CallerQuotas(const CallerQuotas&) = delete;
  CallerQuotas& operator=(const CallerQuotas&) = delete;

  // Admits the request, or returns RESOURCE_EXHAUSTED (ShedReason::kQuota). The error's retry delay is the time to the
  // next token if the rate is exceeded, or the expected time until a request ends if too many requests are in flight. A
  // rejection uses no quota. Takes no lock for a caller without a quota.
  absl::StatusOr<HeldQuota> Admit(const Caller& caller);

  size_t callers() const;  // returns the number of callers that have an entry

 private:
  friend HeldQuota;
  struct Use {
    double tokens = 0;
    absl::Time filled;  // time for which `tokens` is valid
    double rate = 0;    // quota's rate at the last request, for pruning
    double burst = 0;
    int64_t in_flight = 0;
    absl::Duration mean_stay;  // mean time of a request from Admit to Release
  };

  void Release(const QuotaUse& taken);
  void Cancel(const QuotaUse& taken);

  const Clock& clock_;
  mutable Mutex mutex_;
  CallerTable<Use> uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_
