// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_
#define VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_

#include "absl/status/statusor.h"
#include "server/serve/scheduling/inference_request.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The answer to `request` from what its executor computed: top-k, attention maps in the encodings asked for, overlays,
// provenance, grid, batch and the timings of the stages before.
// RESOURCE_EXHAUSTED if overlays grew over max_attention_bytes. Thread-safe.
absl::StatusOr<v1::ClassifyResponse> MakeResponse(const InferenceRequest& request, const InferenceOutput& output);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_RESPONSE_H_
