// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_PLAN_ATTENTION_H_
#define VITRINE_SERVER_SERVE_REQUEST_PLAN_ATTENTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

// Resolves the attention and features that plan.request asks for into the plan, whose model, geometry
// and grid are set.
// INVALID_ARGUMENT names what the model lacks; RESOURCE_EXHAUSTED names the bytes where they exceed the allowance.
// Overlays are not counted: their size is known when they are drawn.
absl::Status PlanAttentionAndFeatures(InferenceRequest& plan);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_PLAN_ATTENTION_H_
