// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_RULES_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_RULES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// Validation, merging and editing of serving configurations. The functions depend only on their arguments.

inline constexpr char kStableLabel[] = "stable";
inline constexpr char kCanaryLabel[] = "canary";
inline constexpr int kMostLatest = 100;

// Check settings. INVALID_ARGUMENT names the field and the value; the first two functions also name the model.
absl::Status ValidateServing(const v1::ServingConfig& config);
absl::Status ValidateServing(const v1::ModelServing& serving);
absl::Status ValidatePolicy(const v1::VersionPolicy& policy);
// Checks the share of the version labelled `stable`, which always gets the part that the other shares leave.
// INVALID_ARGUMENT: a share is set for this version and differs from that part.
absl::Status CheckStableShare(const v1::ModelServing& serving);
absl::Status ValidateLabel(std::string_view label);  // allows 1 to 32 characters of a-z 0-9 _ -, not all of them digits

// Returns a model's row of the serving configuration with `changed` applied. Versions that were excluded (see
// ExcludeVersion) lose their labels and shares.
v1::ModelServing MergeServing(const v1::ModelServing& file, const v1::ModelOverride& changed);

// Returns true if the row changes nothing.
bool IsEmpty(const v1::ModelOverride& row);

bool IsPutAway(const v1::ModelOverride& row, int64_t version);
// Returns the version with this label in the row; 0 if there is none.
int64_t LabelledVersion(const v1::ModelServing& serving, std::string_view label);
double PercentOf(const v1::ModelServing& serving, int64_t version);  // returns the share of the traffic, or 0
// Returns true if the version is not `stable`, and has a share of the traffic or the label `canary`.
bool IsCanary(const v1::ModelServing& serving, int64_t version);

// The functions below edit one model's row among the changes of the Admin service.

template <typename Rows, typename Fits>
void RemoveIf(Rows& rows, const Fits& fits) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), fits), rows.end());
}

// Excludes the version from traffic: removes its label and share. The file's label and share for this version are
// ignored until ReadmitVersion.
void ExcludeVersion(v1::ModelOverride& row, int64_t version, const std::string& reason);
// Undoes ExcludeVersion; the file's labels and shares apply again.
void ReadmitVersion(v1::ModelOverride& row, int64_t version);
// Marks the version to be loaded regardless of the policy.
void AddLoaded(v1::ModelOverride& row, int64_t version);
bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version);
// Sets the version of a label. Zero: no version has the label, even if the file gives the label to a version.
void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_RULES_H_
