// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_
#define VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "server/registry/traffic.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// When a canary is put away by itself. Pure, on any clock.

// The versions that the guard looks at: READY with a share of the traffic or the label `canary`, but never `stable`.
std::set<int64_t> Canaries(const TrafficTable& traffic);

inline constexpr int64_t kDefaultMinRequests = 100;
absl::Duration WindowOf(const v1::CanaryGuard& guard);
absl::Duration GoldenIntervalOf(const v1::CanaryGuard& guard);

// Counters that only grow, seen through a window that moves with the time.
class OutcomeWindow {
 public:
  struct Counts {
    int64_t answers = 0;
    int64_t errors = 0;
  };

  // The counters at `now`; times must not fall. Forgets what is older than the window, but for the last value before
  // it.
  void Add(absl::Time now, Counts total, absl::Duration window);
  // What was counted between the oldest value kept and the newest.
  Counts InWindow() const;

 private:
  struct Sample {
    absl::Time at;
    Counts total;
  };
  std::deque<Sample> samples_;
};

enum class RollbackCause { kErrorRate, kGoldenDrift };

struct RollbackVerdict {
  RollbackCause cause = RollbackCause::kErrorRate;
  std::string reason;  // for people: what was measured and what is allowed
};

// Nothing where the canary may stay. `drift`: of the last run of the goldens; absent before the first; infinite or NaN
// where they did not compute.
std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const OutcomeWindow::Counts& counts,
                                           std::optional<double> drift);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_
