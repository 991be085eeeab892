// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/serving_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/engine/precision.h"
#include "models/repository/files/text.h"
#include "models/repository/repository.h"
#include "server/registry/settings/batch_limits.h"

namespace vitrine {
namespace {

constexpr size_t kLongestLabel = 32;
constexpr int kMostSpecific = 100;
constexpr double kLongestSeconds = 86400;
constexpr int kMostBatchImages = 65536;
// Tolerance for the sum of shares that people write, such as 33.3 + 33.3 + 33.4.
constexpr double kRounding = 1e-9;

absl::Status RefuseRule(const std::string& sentence) {
  return absl::InvalidArgumentError(sentence);
}

absl::Status OfModel(const v1::ModelServing& serving, const absl::Status& status) {
  return RefuseRule(absl::StrCat("model \"", serving.model(), "\": ", std::string(status.message())));
}

absl::Status CheckVersion(const std::string& what, int64_t version) {
  if (version >= 1) return absl::OkStatus();
  return RefuseRule(absl::StrCat(what, " is ", version, "; versions are 1 or more"));
}

absl::Status ValidateTraffic(const v1::ModelServing& serving) {
  std::set<int64_t> seen;
  double sum = 0;
  for (const v1::TrafficShare& share : serving.traffic()) {
    RETURN_IF_ERROR(CheckVersion("traffic: a version", share.version()));
    if (!(share.percent() > 0 && share.percent() <= 100)) {
      return RefuseRule(absl::StrCat("traffic: the share of version ", share.version(), " is ", share.percent(),
                                     " %; it must be above 0 and at most 100"));
    }
    if (!seen.insert(share.version()).second) {
      return RefuseRule(absl::StrCat("traffic: version ", share.version(), " has two shares; give it one"));
    }
    sum += share.percent();
  }
  if (sum > 100 + kRounding)
    return RefuseRule(absl::StrCat("traffic: the shares add up to ", sum, " %; the maximum is 100"));
  return absl::OkStatus();
}

absl::Status ValidateLabels(const v1::ModelServing& serving) {
  std::set<std::string> seen;
  for (const v1::VersionLabel& label : serving.labels()) {
    RETURN_IF_ERROR(ValidateLabel(label.label()));
    RETURN_IF_ERROR(CheckVersion(absl::StrCat("the version labelled \"", label.label(), "\""), label.version()));
    if (!seen.insert(label.label()).second) {
      return RefuseRule(absl::StrCat("the label \"", label.label(), "\" is given twice; it names one version"));
    }
  }
  return absl::OkStatus();
}

absl::Status AtLeastOne(const std::string& field, bool set, int64_t value) {
  if (!set || value >= 1) return absl::OkStatus();
  return RefuseRule(absl::StrCat(field, " is ", value, "; it must be 1 or more"));
}

absl::Status ValidateLimits(const v1::ModelLimits& limits) {
  RETURN_IF_ERROR(
      AtLeastOne("limits.max_queued_requests", limits.has_max_queued_requests(), limits.max_queued_requests()));
  RETURN_IF_ERROR(AtLeastOne("limits.max_queued_bytes", limits.has_max_queued_bytes(), limits.max_queued_bytes()));
  return AtLeastOne("limits.max_memory_bytes", limits.has_max_memory_bytes(), limits.max_memory_bytes());
}

absl::Status ValidateBatching(const v1::BatchLimits& batching) {
  RETURN_IF_ERROR(
      AtLeastOne("batching.max_batch_tokens", batching.has_max_batch_tokens(), batching.max_batch_tokens()));
  if (batching.has_max_batch_images() &&
      (batching.max_batch_images() < 1 || batching.max_batch_images() > kMostBatchImages)) {
    return RefuseRule(absl::StrCat("batching.max_batch_images is ", batching.max_batch_images(), "; it must be 1 to ",
                                   kMostBatchImages));
  }
  RETURN_IF_ERROR(
      AtLeastOne("batching.max_batch_pixels", batching.has_max_batch_pixels(), batching.max_batch_pixels()));
  const double longest = absl::ToDoubleSeconds(kLongestBatchWait);
  // The condition is written so that it also rejects NaN.
  if (batching.has_max_wait_seconds() &&
      !(batching.max_wait_seconds() >= 0 && batching.max_wait_seconds() <= longest)) {
    return RefuseRule(absl::StrCat("batching.max_wait_seconds is ", batching.max_wait_seconds(), "; it must be 0 to ",
                                   longest, " seconds"));
  }
  return absl::OkStatus();
}

absl::Status CheckPrecision(const std::string& field, const std::string& precision) {
  if (ParsePrecision(precision)) return absl::OkStatus();
  return RefuseRule(absl::StrCat(field, " is ", Quoted(precision), "; it must be fp32, bf16 or int8"));
}

absl::Status ValidatePrecisions(const v1::ModelServing& serving) {
  if (!serving.precision().empty()) RETURN_IF_ERROR(CheckPrecision("precision", serving.precision()));
  std::set<int64_t> seen;
  for (const v1::VersionPrecision& of : serving.version_precisions()) {
    RETURN_IF_ERROR(CheckVersion("version_precisions: a version", of.version()));
    RETURN_IF_ERROR(
        CheckPrecision(absl::StrCat("version_precisions: the precision of version ", of.version()), of.precision()));
    if (!seen.insert(of.version()).second) {
      return RefuseRule(absl::StrCat("version_precisions: version ", of.version(), " has two precisions; give it one"));
    }
  }
  return absl::OkStatus();
}

absl::Status SecondsInRange(const std::string& field, bool set, double value) {
  if (!set || (value >= 1 && value <= kLongestSeconds)) return absl::OkStatus();
  return RefuseRule(absl::StrCat(field, " is ", value, "; it must be 1 to ", kLongestSeconds, " seconds"));
}

absl::Status ZeroToOne(const char* field, bool set, double value) {
  if (!set || (value >= 0 && value <= 1)) return absl::OkStatus();  // the test is false for NaN, so NaN is rejected
  return RefuseRule(absl::StrCat("canary_guard.", field, " is ", value, "; it must be 0 to 1"));
}

absl::Status ValidateGuard(const v1::CanaryGuard& guard) {
  v1::CanaryGuard nothing_else;
  nothing_else.set_off(true);
  if (guard.off() && guard.SerializeAsString() != nothing_else.SerializeAsString()) {
    return RefuseRule(
        "canary_guard.off is set together with bounds, which have no effect then; leave out one or the other");
  }
  RETURN_IF_ERROR(ZeroToOne("max_error_rate", guard.has_max_error_rate(), guard.max_error_rate()));
  RETURN_IF_ERROR(
      ZeroToOne("max_confidence_difference", guard.has_max_confidence_difference(), guard.max_confidence_difference()));
  RETURN_IF_ERROR(ZeroToOne("max_class_difference", guard.has_max_class_difference(), guard.max_class_difference()));
  RETURN_IF_ERROR(ZeroToOne("max_unsure_difference", guard.has_max_unsure_difference(), guard.max_unsure_difference()));
  RETURN_IF_ERROR(ZeroToOne("max_disagreement", guard.has_max_disagreement(), guard.max_disagreement()));
  RETURN_IF_ERROR(AtLeastOne("canary_guard.min_requests", guard.has_min_requests(), guard.min_requests()));
  RETURN_IF_ERROR(SecondsInRange("canary_guard.window_seconds", guard.has_window_seconds(), guard.window_seconds()));
  if (guard.has_max_golden_drift() && !(guard.max_golden_drift() > 0 && std::isfinite(guard.max_golden_drift()))) {
    return RefuseRule(
        absl::StrCat("canary_guard.max_golden_drift is ", guard.max_golden_drift(), "; it must be above 0"));
  }
  // The condition is written so that it also rejects NaN.
  if (guard.has_max_compute_ratio() && guard.max_compute_ratio() != 0 &&
      !(guard.max_compute_ratio() > 1 && std::isfinite(guard.max_compute_ratio()))) {
    return RefuseRule(absl::StrCat("canary_guard.max_compute_ratio is ", guard.max_compute_ratio(),
                                   "; it must be above 1, or 0 for no check"));
  }
  return SecondsInRange("canary_guard.golden_interval_seconds", guard.has_golden_interval_seconds(),
                        guard.golden_interval_seconds());
}

absl::Status ValidateSpecific(const v1::VersionList& specific) {
  if (specific.versions().empty()) return RefuseRule("version_policy.specific names no version");
  if (specific.versions_size() > kMostSpecific) {
    return RefuseRule(absl::StrCat("version_policy.specific names ", specific.versions_size(),
                                   " versions; the maximum is ", kMostSpecific));
  }
  std::set<int64_t> seen;
  for (const int64_t version : specific.versions()) {
    RETURN_IF_ERROR(CheckVersion("version_policy.specific: a version", version));
    if (!seen.insert(version).second) {
      return RefuseRule(absl::StrCat("version_policy.specific names version ", version, " twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateParts(const v1::ModelServing& serving) {
  if (serving.has_version_policy()) RETURN_IF_ERROR(ValidatePolicy(serving.version_policy()));
  RETURN_IF_ERROR(ValidateLabels(serving));
  RETURN_IF_ERROR(ValidateTraffic(serving));
  RETURN_IF_ERROR(ValidateLimits(serving.limits()));
  RETURN_IF_ERROR(ValidateBatching(serving.batching()));
  RETURN_IF_ERROR(ValidatePrecisions(serving));
  return ValidateGuard(serving.canary_guard());
}

}  // namespace

absl::Status ValidateLabel(std::string_view label) {
  const bool plain = std::all_of(label.begin(), label.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  // A label of digits only would be read as a version.
  const bool digits = std::all_of(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (plain && !digits && !label.empty() && label.size() <= kLongestLabel) return absl::OkStatus();
  return RefuseRule(absl::StrCat("the label ", Quoted(std::string(label.substr(0, 2 * kLongestLabel))), " is not 1 to ",
                                 kLongestLabel, " of a-z 0-9 _ - with a letter, _ or - among them"));
}

absl::Status ValidatePolicy(const v1::VersionPolicy& policy) {
  switch (policy.policy_case()) {
    case v1::VersionPolicy::kLatest:
      if (policy.latest() >= 1 && policy.latest() <= kMostLatest) return absl::OkStatus();
      return RefuseRule(absl::StrCat("version_policy.latest is ", policy.latest(), "; it must be 1 to ", kMostLatest));
    case v1::VersionPolicy::kAll:
      return policy.all() ? absl::OkStatus() : RefuseRule("version_policy.all must be true; leave it out otherwise");
    case v1::VersionPolicy::kSpecific:
      return ValidateSpecific(policy.specific());
    default:
      return RefuseRule("version_policy is empty; it must be latest, all or specific");
  }
}

absl::Status CheckStableShare(const v1::ModelServing& serving) {
  const int64_t stable = LabelledVersion(serving, kStableLabel);
  const double own = PercentOf(serving, stable);
  double left = 100;
  for (const v1::TrafficShare& share : serving.traffic()) {
    if (share.version() != stable) left -= share.percent();
  }
  if (own == 0 || std::abs(own - left) <= kRounding) return absl::OkStatus();
  return RefuseRule(absl::StrCat("traffic: version ", stable, " is stable, which gets what the other shares leave, ",
                                 left, " %; give the share to another version"));
}

absl::Status ValidateServing(const v1::ModelServing& serving) {
  RETURN_IF_ERROR(ValidateModelName(serving.model()));
  const absl::Status status = ValidateParts(serving);
  return status.ok() ? status : OfModel(serving, status);
}

absl::Status ValidateServing(const v1::ServingConfig& config) {
  std::set<std::string> seen;
  for (const v1::ModelServing& serving : config.models()) {
    RETURN_IF_ERROR(ValidateServing(serving));
    if (!seen.insert(serving.model()).second) {
      return RefuseRule(absl::StrCat("model \"", serving.model(), "\" has two rows; give it one"));
    }
    if (const absl::Status status = CheckStableShare(serving); !status.ok()) return OfModel(serving, status);
  }
  if (!config.has_default_policy()) return absl::OkStatus();
  const absl::Status status = ValidatePolicy(config.default_policy());
  return status.ok() ? status : RefuseRule(absl::StrCat("default_policy: ", std::string(status.message())));
}

v1::ModelServing MergeServing(const v1::ModelServing& file, const v1::ModelOverride& changed) {
  v1::ModelServing merged = file;
  merged.set_model(changed.model().empty() ? file.model() : changed.model());
  if (changed.has_version_policy()) *merged.mutable_version_policy() = changed.version_policy();
  if (changed.has_traffic()) *merged.mutable_traffic() = changed.traffic().shares();
  std::map<std::string, int64_t> labels;
  for (const v1::VersionLabel& label : file.labels()) labels[label.label()] = label.version();
  for (const v1::VersionLabel& label : changed.labels()) labels[label.label()] = label.version();
  merged.clear_labels();
  for (const auto& [label, version] : labels) {
    if (version == 0 || IsPutAway(changed, version)) continue;
    v1::VersionLabel& kept = *merged.add_labels();
    kept.set_label(label);
    kept.set_version(version);
  }
  RemoveIf(*merged.mutable_traffic(),
           [&](const v1::TrafficShare& share) { return IsPutAway(changed, share.version()); });
  return merged;
}

bool IsEmpty(const v1::ModelOverride& row) {
  return !row.has_version_policy() && row.labels().empty() && !row.has_traffic() && row.loaded().empty() &&
         row.put_away().empty() && !row.unloaded();
}

bool IsPutAway(const v1::ModelOverride& row, int64_t version) {
  return std::any_of(row.put_away().begin(), row.put_away().end(),
                     [version](const v1::PutAway& away) { return away.version() == version; });
}

int64_t LabelledVersion(const v1::ModelServing& serving, std::string_view label) {
  for (const v1::VersionLabel& row : serving.labels()) {
    if (row.label() == label) return row.version();
  }
  return 0;
}

double PercentOf(const v1::ModelServing& serving, int64_t version) {
  for (const v1::TrafficShare& share : serving.traffic()) {
    if (share.version() == version) return share.percent();
  }
  return 0;
}

bool IsCanary(const v1::ModelServing& serving, int64_t version) {
  if (LabelledVersion(serving, kStableLabel) == version) return false;
  return PercentOf(serving, version) > 0 || LabelledVersion(serving, kCanaryLabel) == version;
}

void ReadmitVersion(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_put_away(), [&](const v1::PutAway& away) { return away.version() == version; });
}

void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version) {
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.label() == label; });
  v1::VersionLabel& added = *row.add_labels();
  added.set_label(label);
  added.set_version(version);
}

void ExcludeVersion(v1::ModelOverride& row, int64_t version, const std::string& reason) {
  ReadmitVersion(row, version);
  v1::PutAway& away = *row.add_put_away();
  away.set_version(version);
  away.set_reason(reason);
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.version() == version; });
  if (row.has_traffic()) {
    RemoveIf(*row.mutable_traffic()->mutable_shares(),
             [&](const v1::TrafficShare& share) { return share.version() == version; });
  }
}

void AddLoaded(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  row.add_loaded(version);
}

bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version) {
  return std::find(row.loaded().begin(), row.loaded().end(), version) != row.loaded().end();
}

}  // namespace vitrine
