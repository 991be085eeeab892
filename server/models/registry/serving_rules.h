// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_SERVING_RULES_H_
#define VITRINE_SERVER_MODELS_REGISTRY_SERVING_RULES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// What a serving configuration may say, and what comes out of it. Pure.

inline constexpr char kStableLabel[] = "stable";
inline constexpr char kCanaryLabel[] = "canary";
inline constexpr int kMostLatest = 100;

// Whether a configuration is complete and consistent in itself. INVALID_ARGUMENT names model, field, value and range.
absl::Status ValidateServing(const v1::ServingConfig& config);
absl::Status ValidateServing(const v1::ModelServing& serving);
absl::Status ValidatePolicy(const v1::VersionPolicy& policy);
absl::Status ValidateLabel(std::string_view label);  // 1 to 32 of a-z 0-9 _ -

// The file's row with a change over it. Versions that were put away keep neither label nor share.
v1::ModelServing MergeServing(const v1::ModelServing& file, const v1::ModelOverride& changed);

// Whether the row says nothing.
bool IsEmpty(const v1::ModelOverride& row);

bool IsPutAway(const v1::ModelOverride& row, int64_t version);
// The version with this label in the row; 0 where there is none.
int64_t LabelledVersion(const v1::ModelServing& serving, std::string_view label);
double PercentOf(const v1::ModelServing& serving, int64_t version);  // of the traffic; 0 without a share
// It has a share of the traffic or the label `canary`, and is not `stable`.
bool IsTriedOut(const v1::ModelServing& serving, int64_t version);

// Small changes of what the Admin service has set for a model.

template <typename Rows, typename Fits>
void RemoveIf(Rows& rows, const Fits& fits) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), fits), rows.end());
}

// The version loses its label and its share; what the file gives it is passed over as long as it is put away.
void PutAwayIn(v1::ModelOverride& row, int64_t version, const std::string& reason);
// It is put away no longer.
void TakeBackIn(v1::ModelOverride& row, int64_t version);
// Into memory, whatever the policy says.
void AddLoaded(v1::ModelOverride& row, int64_t version);
bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version);
// Version 0: none, whatever the file says.
void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_SERVING_RULES_H_
