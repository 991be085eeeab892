// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_
#define VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "server/models/registry/compute_times.h"
#include "server/models/registry/counter_window.h"
#include "server/models/registry/traffic.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// When a canary is put away by itself. Pure, on any clock.

// The versions that the guard looks at: READY with a share of the traffic or the label `canary`, but never `stable`.
std::set<int64_t> Canaries(const TrafficTable& traffic);

inline constexpr int64_t kDefaultMinRequests = 100;
// Twice: a busy machine slows both versions, and batches of the same sizes are compared, so that noise stays far below.
inline constexpr double kDefaultMaxComputeRatio = 2;
absl::Duration WindowOf(const v1::CanaryGuard& guard);
absl::Duration GoldenIntervalOf(const v1::CanaryGuard& guard);

// What became of the answers of a version.
struct OutcomeCounts {
  int64_t answers = 0;
  int64_t errors = 0;

  friend OutcomeCounts operator-(const OutcomeCounts& later, const OutcomeCounts& earlier) {
    return {later.answers - earlier.answers, later.errors - earlier.errors};
  }
};
using OutcomeWindow = CounterWindow<OutcomeCounts>;

// What a canary and `stable` have computed, looked at at the same moments.
struct ComputePair {
  ComputeTimes canary;
  ComputeTimes stable;

  friend ComputePair operator-(const ComputePair& later, const ComputePair& earlier) {
    return {later.canary - earlier.canary, later.stable - earlier.stable};
  }
};
using ComputeWindow = CounterWindow<ComputePair>;

enum class RollbackCause { kErrorRate, kGoldenDrift, kSlow };

struct RollbackVerdict {
  RollbackCause cause = RollbackCause::kErrorRate;
  std::string reason;  // for people: what was measured and what is allowed
};

// Nothing where the canary may stay. `drift`: of the last run of the goldens; absent before the first; infinite or NaN
// where they did not compute. `compared`: with `stable`, over the window.
std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const OutcomeWindow::Counts& counts,
                                           std::optional<double> drift, const ComputeComparison& compared = {});

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_
