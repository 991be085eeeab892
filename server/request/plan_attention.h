// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REQUEST_PLAN_ATTENTION_H_
#define VITRINE_SERVER_REQUEST_PLAN_ATTENTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/request/inference_request.h"

namespace vitrine {

// Bytes of attention values and features that an answer may carry: the default, and the most that a caller may allow.
inline constexpr int64_t kDefaultAttentionBytes = int64_t{1} << 20;
inline constexpr int64_t kMaxAttentionBytes = int64_t{16} << 20;
// max_attention_bytes of a request, or its default.
int64_t AttentionBytesAllowed(const v1::ClassifyRequest& request);

// Resolves the attention and features that plan.request asks for into the plan, whose model, geometry
// and grid are set.
// INVALID_ARGUMENT names what the model lacks; RESOURCE_EXHAUSTED names the bytes where they exceed the allowance.
// Overlays are not counted: their size is known when they are drawn.
absl::Status PlanAttentionAndFeatures(InferenceRequest& plan);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REQUEST_PLAN_ATTENTION_H_
