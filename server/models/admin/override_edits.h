// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_ADMIN_OVERRIDE_EDITS_H_
#define VITRINE_SERVER_MODELS_ADMIN_OVERRIDE_EDITS_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "vitrine/v1/serving.pb.h"

namespace vitrine {

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

#endif  // VITRINE_SERVER_MODELS_ADMIN_OVERRIDE_EDITS_H_
