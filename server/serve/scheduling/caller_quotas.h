// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/identity/caller.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/held.h"
#include "server/serve/scheduling/rolling_prune.h"

namespace vitrine {

class CallerQuotas;

// How many requests at once the quota ever allows by its rate: its burst, or one second's worth, at least 1. Infinite
// without a rate.
double BurstOf(const CallerQuota& quota);

// One request in flight, of a caller's quota.
struct QuotaUse {
  std::string caller;
  absl::Time since = {};
  bool took_token = false;  // the quota had a rate
};
// Cancelled where the server refuses the request because it is busy: as if it had never been admitted.
using HeldQuota = Held<CallerQuotas, QuotaUse>;

// Counts what each caller uses of its quota: a token bucket for the rate, a counter for what is in flight. The quota
// comes with every request, so that a policy that is read anew counts from the next request on. Thread-safe; never
// blocks beyond a short lock. Keeps a few words for each caller whose bucket is not full or who has requests in flight.
// Outlives what is held of it.
class CallerQuotas {
 public:
  explicit CallerQuotas(const Clock& clock) : clock_(clock) {}
  CallerQuotas(const CallerQuotas&) = delete;
  CallerQuotas& operator=(const CallerQuotas&) = delete;

  // RESOURCE_EXHAUSTED (ShedReason::kQuota) above the rate, with the time to the next token, or with too many in
  // flight, with the time after which the next of them ends as they ended so far. A refusal uses up nothing. Without a
  // quota it is free and takes no lock.
  absl::StatusOr<HeldQuota> Admit(const Caller& caller);

  size_t callers() const;  // that something is kept for

 private:
  friend HeldQuota;
  struct Use {
    double tokens = 0;
    absl::Time filled;  // when `tokens` was right
    double rate = 0;    // of the last request, for pruning
    double burst = 0;
    int64_t in_flight = 0;
    absl::Duration mean_stay;  // of requests, from Admit to Release
  };

  void Release(const QuotaUse& taken);
  void Cancel(const QuotaUse& taken);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Use> uses_ ABSL_GUARDED_BY(mutex_);
  RollingPrune<std::map<std::string, Use>> prune_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_QUOTAS_H_
