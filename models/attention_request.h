// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_REQUEST_H_
#define VITRINE_MODELS_ATTENTION_REQUEST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/token_layout.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// Layout of the values of an attention kind.
enum class AttentionForm {
  kGrid,      // one value per patch token
  kTokens,    // tokens x tokens
  kChannels,  // channels x channels
  kDistance,  // layers x heads
};
AttentionForm FormOf(v1::AttentionKind kind);

// Checks a request against the model and the image's grid. Resolves negative layers and heads and fills in defaults.
// INVALID_ARGUMENT names the invalid or repeated value.
absl::StatusOr<v1::AttentionRequest> ResolveAttention(const v1::AttentionRequest& request,
                                                      const AttentionAbility& ability, Grid grid);

// Number of maps that a resolved request returns for a grid, and number of values per map.
struct AttentionSize {
  int64_t maps = 0;
  int64_t values_per_map = 0;
};
AttentionSize SizeOf(const v1::AttentionRequest& resolved, const AttentionAbility& ability, Grid grid);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_REQUEST_H_
