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

// Validation and merging of serving configurations. Pure.

inline constexpr char kStableLabel[] = "stable";
inline constexpr char kCanaryLabel[] = "canary";
inline constexpr int kMostLatest = 100;

// Checks that a configuration is complete and consistent in itself. INVALID_ARGUMENT names model, field, value and
// range.
absl::Status ValidateServing(const v1::ServingConfig& config);
absl::Status ValidateServing(const v1::ModelServing& serving);
absl::Status ValidatePolicy(const v1::VersionPolicy& policy);
absl::Status ValidateLabel(std::string_view label);  // 1 to 32 of a-z 0-9 _ -, not digits alone

// Returns the file's row with an operator's change applied. Versions that were put away lose label and share.
v1::ModelServing MergeServing(const v1::ModelServing& file, const v1::ModelOverride& changed);

// Returns true if the row changes nothing.
bool IsEmpty(const v1::ModelOverride& row);

bool IsPutAway(const v1::ModelOverride& row, int64_t version);
// Returns the version with this label in the row; 0 if there is none.
int64_t LabelledVersion(const v1::ModelServing& serving, std::string_view label);
double PercentOf(const v1::ModelServing& serving, int64_t version);  // share of the traffic; 0 without one
// Returns true if the version has a share of the traffic or the label `canary`, and is not `stable`.
bool IsCanary(const v1::ModelServing& serving, int64_t version);

// Edits of the changes that the Admin service has made to a model.

template <typename Rows, typename Fits>
void RemoveIf(Rows& rows, const Fits& fits) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), fits), rows.end());
}

// Puts the version away: removes its label and share; those in the file are ignored until ReadmitVersion.
void ExcludeVersion(v1::ModelOverride& row, int64_t version, const std::string& reason);
// Ends the exclusion by ExcludeVersion; labels and shares in the file apply again.
void ReadmitVersion(v1::ModelOverride& row, int64_t version);
// Loads the version whatever the policy says.
void AddLoaded(v1::ModelOverride& row, int64_t version);
bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version);
// Sets the version of a label; 0: none, even if the file has one.
void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_RULES_H_
