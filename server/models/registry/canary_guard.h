// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_
#define VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "server/models/registry/answer_record.h"
#include "server/models/registry/compute_times.h"
#include "server/models/registry/paired_answers.h"
#include "server/models/registry/traffic.h"
#include "server/observe/model_metrics.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// When a canary is put away by itself. Pure, on any clock.

// The versions that the guard looks at: READY with a share of the traffic or the label `canary`, but never `stable`.
std::set<int64_t> Canaries(const TrafficTable& traffic);

// Whether pictures of the canary are computed by `stable` too.
bool ComparesPairs(const v1::CanaryGuard& guard);

absl::Duration WindowOf(const v1::CanaryGuard& guard);
absl::Duration GoldenIntervalOf(const v1::CanaryGuard& guard);

// Counters that only grow, seen through a window that moves with the time. Counters has a difference. Keeps some
// kSamples values however long the window is: that is how sharp its beginning is.
template <typename Counters>
class CounterWindow {
 public:
  using Counts = Counters;

  // The counters at `now`; times must not fall. Forgets what is older than the window, but for the last value before
  // it.
  void Add(absl::Time now, const Counts& total, absl::Duration window) {
    const size_t size = samples_.size();
    if (size >= 2 && now - samples_[size - 2].at < window / kSamples) samples_.pop_back();
    samples_.push_back({now, total});
    while (samples_.size() > 2 && samples_[1].at <= now - window) samples_.pop_front();
  }
  // What was counted between the oldest value kept and the newest.
  Counts InWindow() const { return samples_.empty() ? Counts() : samples_.back().total - samples_.front().total; }

 private:
  static constexpr int kSamples = 300;
  struct Sample {
    absl::Time at;
    Counts total;
  };
  std::deque<Sample> samples_;
};

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

// What a canary and `stable` have answered, likewise.
struct AnswerPair {
  AnswerTotals canary;
  AnswerTotals stable;
  PairCounts paired;

  friend AnswerPair operator-(const AnswerPair& later, const AnswerPair& earlier) {
    return {later.canary - earlier.canary, later.stable - earlier.stable, later.paired - earlier.paired};
  }
};
using AnswerWindow = CounterWindow<AnswerPair>;

// What is known of a canary; counts and comparisons with `stable` are over the window.
struct CanaryEvidence {
  OutcomeCounts counts;
  // Of the last run of the goldens; absent before the first; infinite or NaN where they did not compute.
  std::optional<double> drift;
  std::optional<double> tolerance;  // what drifts less is in order, where the guard says nothing; absent: nobody knows
  ComputeComparison compute;
  AnswerComparison answers;
  PairCounts paired;
  std::string other_classes;  // OtherClasses, against `stable`
};

struct RollbackVerdict {
  RollbackCause cause = RollbackCause::kErrorRate;
  std::string reason;  // for people: what was measured and what is allowed
};

// Nothing where the canary may stay.
//
// A canary that is as good as `stable` is put away in fewer than one of a thousand hours, whatever the guard looks at,
// where the requests of each caller are divided at random: by four standard errors, the differences between two
// trainings with other seeds stay within the bounds. Ids of requests that repeat are no such division: where each
// names a user, a bound must leave room for what users differ by.
std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const CanaryEvidence& evidence);

// When the guard puts a canary away, for people.
std::string DescribeGuard(const v1::CanaryGuard& guard);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_CANARY_GUARD_H_
