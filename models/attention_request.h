// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_REQUEST_H_
#define VITRINE_MODELS_ATTENTION_REQUEST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/token_layout.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// Where the values of a kind lie.
enum class AttentionForm {
  kGrid,      // one value per patch token, on the picture
  kTokens,    // tokens x tokens
  kChannels,  // channels x channels
  kDistance,  // layers x heads
};
AttentionForm FormOf(v1::AttentionKind kind);

// Checks a request against what the model has and what the picture's grid holds; makes negative layers positive and
// defaults explicit. INVALID_ARGUMENT names the kind, layer, head or query at fault and what there is.
absl::StatusOr<v1::AttentionRequest> ResolveAttention(const v1::AttentionRequest& request,
                                                      const AttentionAbility& ability, Grid grid);

// How many maps a resolved request yields for this grid, and how many values each has.
struct AttentionSize {
  int64_t maps = 0;
  int64_t values_per_map = 0;
};
AttentionSize SizeOf(const v1::AttentionRequest& resolved, const AttentionAbility& ability, Grid grid);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_REQUEST_H_
