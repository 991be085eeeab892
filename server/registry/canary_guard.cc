// SPDX-License-Identifier: Apache-2.0
#include "server/registry/canary_guard.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/registry/settings/serving_rules.h"

namespace vitrine {
namespace {

constexpr double kDefaultSeconds = 60;
constexpr int64_t kDefaultMinRequests = 100;
// Default bound on the ratio of compute times. It is far above the noise of the measured ratio. This noise is small,
// because a busy machine slows both versions alike, and only batches of equal size are compared.
constexpr double kDefaultMaxComputeRatio = 2;
constexpr double kDefaultMaxErrorRate = 0.02;
// Versions that were trained with one recipe and different seeds differ by a tenth of these bounds.
constexpr double kDefaultMaxConfidence = 0.2;
constexpr double kDefaultMaxClasses = 0.3;
constexpr double kDefaultMaxUnsure = 0.2;
// Two good versions give the same class for about nine tenths of the images on which one of the versions is sure. A
// version with shuffled classes agrees with a good version on almost no image.
constexpr double kDefaultMaxDisagreement = 0.5;
// Number of standard errors by which a difference must exceed its bound. It is large because each window of one minute
// is judged sixty times, and each of these judgements may be wrong by chance.
constexpr double kCertain = 4;

struct Bounds {
  double error_rate;
  double compute_ratio;  // 0: not checked
  double confidence;     // 1: not checked, as in the fields below
  double classes;
  double unsure;
  double disagreement;
};

Bounds MaxOf(const v1::CanaryGuard& guard) {
  return {
      .error_rate = guard.has_max_error_rate() ? guard.max_error_rate() : kDefaultMaxErrorRate,
      .compute_ratio = guard.has_max_compute_ratio() ? guard.max_compute_ratio() : kDefaultMaxComputeRatio,
      .confidence = guard.has_max_confidence_difference() ? guard.max_confidence_difference() : kDefaultMaxConfidence,
      .classes = guard.has_max_class_difference() ? guard.max_class_difference() : kDefaultMaxClasses,
      .unsure = guard.has_max_unsure_difference() ? guard.max_unsure_difference() : kDefaultMaxUnsure,
      .disagreement = guard.has_max_disagreement() ? guard.max_disagreement() : kDefaultMaxDisagreement,
  };
}

bool IsAbove(const Estimate& estimate, double bound) {
  return std::fabs(estimate.value) - kCertain * estimate.error > bound;
}

// Returns true if the lower end of the Wilson interval of the share of different answers is above `bound`. This
// interval is also valid for few images, and for shares near 0 and 1.
bool IsAbove(const PairCounts& paired, double bound) {
  if (paired.images == 0) return false;
  const auto n = static_cast<double>(paired.images);
  const double share = static_cast<double>(paired.different) / n, z2 = kCertain * kCertain;
  const double spread = kCertain * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return (share + z2 / (2 * n) - spread) / (1 + z2 / n) > bound;
}

std::optional<RollbackVerdict> JudgeAnswers(const Bounds& most, const AnswerComparison& answers) {
  const auto verdict = [&](const char* what, const Estimate& estimate, double bound) {
    return RollbackVerdict{RollbackCause::kAnswers,
                           absl::StrFormat("%s by %.2f +- %.2f over %d of its answers; the bound is %.2f", what,
                                           estimate.value, estimate.error, answers.images, bound)};
  };
  if (IsAbove(answers.confidence, most.confidence)) {
    return verdict("its mean confidence differs from the stable version's", answers.confidence, most.confidence);
  }
  if (IsAbove(answers.unsure, most.unsure)) {
    return verdict("its share of unsure answers differs from the stable version's", answers.unsure, most.unsure);
  }
  if (IsAbove(answers.classes, most.classes)) {
    return verdict("the distribution of its classes differs from the stable version's", answers.classes, most.classes);
  }
  return std::nullopt;
}

}  // namespace

std::string ReasonForCallers(const std::string& reason) {
  return absl::StartsWith(reason, kByGuard) ? reason : "by an operator";
}

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

bool ComparesPairs(const v1::CanaryGuard& guard) {
  return MaxOf(guard).disagreement < 1;
}

std::optional<RollbackVerdict> JudgeCanary(const v1::CanaryGuard& guard, const CanaryEvidence& evidence) {
  const Bounds most = MaxOf(guard);
  if (!guard.allow_other_labels() && !evidence.other_classes.empty()) {
    return RollbackVerdict{RollbackCause::kLabels, absl::StrCat(evidence.other_classes,
                                                                " compared with the stable version: callers would read "
                                                                "one class under two names")};
  }
  // The comparison below is written so that a drift of NaN also counts as above the bound.
  const std::optional<double> drift_bound =
      guard.has_max_golden_drift() ? std::optional(guard.max_golden_drift()) : evidence.tolerance;
  if (drift_bound.has_value() && evidence.drift.has_value() && !(*evidence.drift <= *drift_bound)) {
    return RollbackVerdict{RollbackCause::kGoldenDrift, absl::StrCat("the drift of its goldens is ", *evidence.drift,
                                                                     "; the bound is ", *drift_bound)};
  }
  const int64_t enough = guard.has_min_requests() ? guard.min_requests() : kDefaultMinRequests;
  if (evidence.counts.answers >= enough) {
    const double rate = static_cast<double>(evidence.counts.errors) / static_cast<double>(evidence.counts.answers);
    if (rate > most.error_rate) {
      return RollbackVerdict{
          RollbackCause::kErrorRate,
          absl::StrFormat("%d of its last %d answers were errors, %.1f %%; the bound is %.1f %%",
                          evidence.counts.errors, evidence.counts.answers, 100 * rate, 100 * most.error_rate)};
    }
  }
  if (most.compute_ratio > 0 && evidence.compute.images >= enough && evidence.compute.ratio > most.compute_ratio) {
    return RollbackVerdict{RollbackCause::kSlow,
                           absl::StrFormat("it needs %.2f times the stable version's compute time per image, over %d "
                                           "images in batches of equal sizes; the bound is %.2f",
                                           evidence.compute.ratio, evidence.compute.images, most.compute_ratio)};
  }
  if (IsAbove(evidence.paired, most.disagreement)) {
    return RollbackVerdict{
        RollbackCause::kAnswers,
        absl::StrFormat("it predicts another class for %d of %d images that the stable version also computed and is "
                        "sure of; the bound is %.0f %%",
                        evidence.paired.different, evidence.paired.images, 100 * most.disagreement)};
  }
  return evidence.answers.images < enough ? std::nullopt : JudgeAnswers(most, evidence.answers);
}

std::string DescribeGuard(const v1::CanaryGuard& guard) {
  if (guard.off()) return "no guard watches it: canary_guard { off: true } is set";
  const Bounds most = MaxOf(guard);
  std::vector<std::string> causes;
  if (!guard.allow_other_labels()) causes.emplace_back("other class labels");
  if (most.error_rate < 1) causes.push_back(absl::StrFormat("more than %g %% errors", 100 * most.error_rate));
  causes.push_back(guard.has_max_golden_drift()
                       ? absl::StrFormat("a drift of its goldens above %g", guard.max_golden_drift())
                       : "a drift of its goldens above the tolerance in its manifest");
  if (most.compute_ratio > 0) {
    causes.push_back(absl::StrFormat("more than %g times the stable version's time per image", most.compute_ratio));
  }
  const auto add_difference = [&](const char* what, double bound) {
    if (bound < 1) causes.push_back(absl::StrFormat("a difference of more than %g in %s", bound, what));
  };
  add_difference("mean confidence", most.confidence);
  add_difference("the distribution of classes", most.classes);
  add_difference("the share of unsure answers", most.unsure);
  if (most.disagreement < 1) {
    causes.push_back(absl::StrFormat("another class for more than %g %% of the images that both versions compute",
                                     100 * most.disagreement));
  }
  return absl::StrCat("the canary guard watches it, and puts it away for ", absl::StrJoin(causes, ", "));
}

}  // namespace vitrine
