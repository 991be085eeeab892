// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_MAPS_H_
#define VITRINE_MODELS_ATTENTION_MAPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "models/attention_request.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

class AttentionTap;

struct AttentionMap {
  v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
  int layer = 0;  // -1 for ROLLOUT and DISTANCE
  int head = 0;   // -1 for the mean over heads, ROLLOUT and DISTANCE
  int rows = 0;
  int columns = 0;
  bool diverging = false;          // values may be negative (X-ViT)
  std::vector<float> values = {};  // row-major
};

// Requests from `tap` the matrices that `resolved` needs for the image with index `image`. The forward pass will store
// these matrices in `tap`.
void RequestAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability, int image,
                      AttentionTap& tap);

// Returns the maximum number of bytes that the forward pass stores in the tap for the requests of one image, except for
// arrays whose size is linear in the number of tokens.
int64_t MatrixBytes(std::span<const v1::AttentionRequest> resolved, const AttentionAbility& ability, Grid grid);

// Returns the attention maps of one image. All maps of a layer are adjacent. Layers and heads are in the order of the
// request. Requires a call of RequestAttention before the forward pass.
std::vector<AttentionMap> CollectAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability,
                                           const AttentionTap& tap, int image, Grid grid);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_MAPS_H_
