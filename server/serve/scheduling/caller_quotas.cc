// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/caller_quotas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

// Weight of a new observation of a request's time in flight.
constexpr double kCallerStayWeight = 0.2;
// Estimate of a request's time in flight before the caller's first request has ended.
constexpr absl::Duration kFirstCallerStay = absl::Milliseconds(100);

// Returns the level of a token bucket at the time `now`, if it contained `tokens` at the time `filled`.
double Level(double tokens, absl::Time filled, absl::Time now, double rate, double burst) {
  return std::min(burst, tokens + rate * absl::ToDoubleSeconds(now - filled));
}

}  // namespace

double BurstOf(const CallerQuota& quota) {
  if (!std::isfinite(quota.requests_per_second)) return quota.requests_per_second;
  if (quota.burst < std::numeric_limits<int64_t>::max()) return static_cast<double>(quota.burst);
  return std::max(1.0, quota.requests_per_second);
}

absl::StatusOr<HeldQuota> CallerQuotas::Admit(const Caller& caller) {
  if (caller.quota == nullptr) return HeldQuota();
  const CallerQuota& quota = *caller.quota;
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  // Erases callers that need no entry, because their bucket is full and they have no request in flight.
  uses_.Prune([now](CallerId, const Use& use) {
    return use.in_flight == 0 && Level(use.tokens, use.filled, now, use.rate, use.burst) >= use.burst;
  });
  QuotaUse taken = {.caller = uses_.Enter(caller.Account())};
  Use& use = uses_[taken.caller];
  if (use.in_flight >= quota.max_in_flight) {
    const absl::Duration stay = use.mean_stay > absl::ZeroDuration() ? use.mean_stay : kFirstCallerStay;
    return ShedError(ShedReason::kQuota,
                     absl::StrCat("caller \"", caller.name, "\" has ", use.in_flight,
                                  " requests in flight, as many as its quota allows"),
                     stay / use.in_flight);
  }
  if (std::isfinite(quota.requests_per_second)) {
    const double rate = quota.requests_per_second, burst = BurstOf(quota);
    use.tokens = use.rate == 0 ? burst : Level(use.tokens, use.filled, now, rate, burst);
    use.filled = now;
    use.rate = rate;
    use.burst = burst;
    // The level is a sum of many small additions, so a small rounding error is tolerated.
    if (use.tokens < 1 - 1e-9) {
      return ShedError(ShedReason::kQuota,
                       absl::StrCat("caller \"", caller.name, "\" sends more than its quota of ", rate,
                                    " requests per second with bursts of ", burst),
                       absl::Seconds((1 - use.tokens) / rate));
    }
    use.tokens -= 1;
    taken.took_token = true;
  }
  ++use.in_flight;
  taken.since = now;
  return HeldQuota(this, taken);
}

void CallerQuotas::Release(const QuotaUse& taken) {
  const absl::Duration stay = clock_.Now() - taken.since;
  MutexLock lock(mutex_);
  Use& use = uses_[taken.caller];  // Prune never erases a caller that has requests in flight
  --use.in_flight;
  use.mean_stay =
      use.mean_stay == absl::ZeroDuration() ? stay : use.mean_stay + kCallerStayWeight * (stay - use.mean_stay);
}

void CallerQuotas::Cancel(const QuotaUse& taken) {
  MutexLock lock(mutex_);
  Use& use = uses_[taken.caller];
  --use.in_flight;
  if (taken.took_token) use.tokens = std::min(use.burst, use.tokens + 1);
}

size_t CallerQuotas::callers() const {
  MutexLock lock(mutex_);
  return uses_.size();
}

}  // namespace vitrine
