// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_
#define VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "server/observe/model_metrics.h"
#include "server/registry/settings/traffic.h"
#include "server/registry/version/answer_record.h"
#include "server/registry/version/compute_times.h"
#include "server/registry/version/paired_answers.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// Prefix of the guard's reason for removing a version from traffic. Callers may read the guard's reasons; the reasons
// that operators give are only for operators.
inline constexpr char kByGuard[] = "rolled back by the canary guard: ";
// Returns the reason that callers may read: the guard's reason, or "by an operator".
std::string ReasonForCallers(const std::string& reason);

// Rules by which a canary is rolled back automatically. Times may come from any clock.

// Returns the versions that the guard watches: READY versions with a share of the traffic or the label `canary`, except
// `stable`.
std::set<int64_t> Canaries(const TrafficTable& traffic);

// Returns true if the guard needs `stable` to compute some of the canary's images too.
bool ComparesPairs(const v1::CanaryGuard& guard);

absl::Duration WindowOf(const v1::CanaryGuard& guard);
absl::Duration GoldenIntervalOf(const v1::CanaryGuard& guard);

// A sliding window over counters that only grow. `Counters` must have operator-. Keeps at most about kSamples samples
// for any window length, so the window may be longer than requested by window / kSamples or more.
template <typename Counters>
class CounterWindow {
 public:
  using Counts = Counters;

  // Adds a sample: the values `total` of the counters at the time `now`. `now` must not decrease between calls. Drops
  // the samples that are older than the window, but keeps the newest of them as the start of the window.
  void Add(absl::Time now, const Counts& total, absl::Duration window) {
    const size_t size = samples_.size();
    if (size >= 2 && now - samples_[size - 2].at < window / kSamples) samples_.pop_back();
    samples_.push_back({now, total});
    while (samples_.size() > 2 && samples_[1].at <= now - window) samples_.pop_front();
  }
  // Returns the difference between the newest and the oldest sample.
  Counts InWindow() const { return samples_.empty() ? Counts() : samples_.back().total - samples_.front().total; }

 private:
  static constexpr int kSamples = 300;
  struct Sample {
    absl::Time at;
    Counts total;
  };
  std::deque<Sample> samples_;
};

// Number of a version's answers including errors, and number of these errors. Only faults of the server are errors.
struct OutcomeCounts {
  int64_t answers = 0;
  int64_t errors = 0;

  friend OutcomeCounts operator-(const OutcomeCounts& later, const OutcomeCounts& earlier) {
    return {later.answers - earlier.answers, later.errors - earlier.errors};
  }
};
using OutcomeWindow = CounterWindow<OutcomeCounts>;

// Compute times of a canary and `stable`, sampled at the same moments.
struct ComputePair {
  ComputeTimes canary;
  ComputeTimes stable;

  friend ComputePair operator-(const ComputePair& later, const ComputePair& earlier) {
    return {later.canary - earlier.canary, later.stable - earlier.stable};
  }
};
using ComputeWindow = CounterWindow<ComputePair>;

// Answers of a canary and of `stable`, sampled at the same moments.
struct AnswerPair {
  AnswerTotals canary;
  AnswerTotals stable;
  PairCounts paired;

  friend AnswerPair operator-(const AnswerPair& later, const AnswerPair& earlier) {
    return {later.canary - earlier.canary, later.stable - earlier.stable, later.paired - earlier.paired};
  }
};
using AnswerWindow = CounterWindow<AnswerPair>;

// The data on which a canary is judged. The counts and the comparisons with `stable` cover the guard's window.
struct CanaryEvidence {
  OutcomeCounts counts;
  // Drift of the outputs in the last run of the goldens. Unset before the first run; infinite or NaN if the computation
  // failed.
  std::optional<double> drift;
  // Bound for `drift` if the guard sets no bound: the tolerance in the canary's manifest. Unset if the manifest has no
  // tolerance for the canary's device and precision, or if the canary was unloaded. Without a bound, the drift is not
  // judged.
  std::optional<double> tolerance;
  ComputeComparison compute;
  AnswerComparison answers;
  PairCounts paired;
  std::string other_classes;  // result of OtherClasses(canary, stable)
};

struct RollbackVerdict {
  RollbackCause cause = RollbackCause::kErrorRate;
  std::string reason;  // measured value and bound, for people
};

// Returns the reason to roll the canary back; nullopt if the canary may stay. Differences in answers must exceed their
// bounds by four standard errors. Therefore a canary that answers like `stable` is rolled back less than once in a
// thousand hours, if requests are divided at random. If request ids identify users, the division is not random, so the
// bounds must allow for differences between users. Versions trained with different seeds stay within the default
// bounds.
std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const CanaryEvidence& evidence);

// Returns a text for people that lists the conditions under which the guard rolls back a canary.
std::string DescribeGuard(const v1::CanaryGuard& guard);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_CANARY_GUARD_H_
