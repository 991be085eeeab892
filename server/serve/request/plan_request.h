// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_PLAN_REQUEST_H_
#define VITRINE_SERVER_SERVE_REQUEST_PLAN_REQUEST_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "server/serve/request/received.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

// Maximum bytes of ClassifyRequest::request_id.
inline constexpr size_t kMaxRequestIdBytes = 128;

// Checks a request against its model and plans its geometry, grid, attention and features. Makes every check that is
// possible before a pixel is decoded. Reads only the image's header, in place, so the cost does not depend on the
// image's size. Does not set fields that depend on the RPC or HTTP call, such as arrival, deadline, cancelled and done;
// the caller of this function sets them. RESOURCE_EXHAUSTED: attention and features exceed max_attention_bytes.
// FAILED_PRECONDITION: the request needs predictions, but the model has no classes. Other faults are INVALID_ARGUMENT.
// Each error message names the fault and a remedy. Thread-safe.
absl::StatusOr<InferenceRequest> PlanRequest(ReceivedClassify request, ModelHandle model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_PLAN_REQUEST_H_
