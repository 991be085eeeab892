// SPDX-License-Identifier: Apache-2.0
#include "server/models/registry/canary_guard.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/models/registry/serving_rules.h"

namespace vitrine {
namespace {

constexpr double kDefaultSeconds = 60;
constexpr int64_t kDefaultMinRequests = 100;
// Twice: a busy machine slows both versions, and batches of the same sizes are compared, so that noise stays far below.
constexpr double kDefaultMaxComputeRatio = 2;

}  // namespace

std::set<int64_t> Canaries(const TrafficTable& traffic) {
  std::set<int64_t> canaries;
  for (const TrafficTable::Part& part : traffic.parts) canaries.insert(part.version);
  const auto labelled = traffic.labels.find(kCanaryLabel);
  if (labelled != traffic.labels.end()) canaries.insert(labelled->second);
  canaries.erase(traffic.stable);
  return canaries;
}

absl::Duration WindowOf(const v1::CanaryGuard& guard) {
  return absl::Seconds(guard.has_window_seconds() ? guard.window_seconds() : kDefaultSeconds);
}

absl::Duration GoldenIntervalOf(const v1::CanaryGuard& guard) {
  return absl::Seconds(guard.has_golden_interval_seconds() ? guard.golden_interval_seconds() : kDefaultSeconds);
}

std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const OutcomeWindow::Counts& counts,
                                           std::optional<double> drift, const ComputeComparison& compared) {
  const int64_t enough = guard.has_min_requests() ? guard.min_requests() : kDefaultMinRequests;
  if (guard.has_max_error_rate() && counts.answers >= enough) {
    const double rate = static_cast<double>(counts.errors) / static_cast<double>(counts.answers);
    if (rate > guard.max_error_rate()) {
      return RollbackVerdict{RollbackCause::kErrorRate,
                             absl::StrFormat("%d of its last %d answers were errors, %.1f %%; the bound is %.1f %%",
                                             counts.errors, counts.answers, 100 * rate, 100 * guard.max_error_rate())};
    }
  }
  // Written so that NaN passes no bound.
  if (guard.has_max_golden_drift() && drift.has_value() && !(*drift <= guard.max_golden_drift())) {
    return RollbackVerdict{RollbackCause::kGoldenDrift, absl::StrCat("its goldens are off by ", *drift,
                                                                     "; the bound is ", guard.max_golden_drift())};
  }
  const double most = guard.has_max_compute_ratio() ? guard.max_compute_ratio() : kDefaultMaxComputeRatio;
  if (most > 0 && compared.pictures >= enough && compared.ratio > most) {
    return RollbackVerdict{
        RollbackCause::kSlow,
        absl::StrFormat("it computes %.2f times as long for a picture as the stable version, over %d "
                        "pictures in batches of the same sizes; the bound is %.2f",
                        compared.ratio, compared.pictures, most)};
  }
  return std::nullopt;
}

}  // namespace vitrine
