// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_
#define VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_

#include "absl/status/statusor.h"
#include "server/serve/scheduling/inference_request.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Makes the answer to `request` from the executor's output: top-k, attention maps in the requested encodings, overlays,
// features, provenance, grid, batch and the timings of the earlier stages. RESOURCE_EXHAUSTED: overlays exceed
// max_attention_bytes, or an answer with overlays exceeds the client's message limit. Thread-safe.
absl::StatusOr<v1::ClassifyResponse> MakeResponse(const InferenceRequest& request, const InferenceOutput& output);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_
