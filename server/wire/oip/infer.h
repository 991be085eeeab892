// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/identity/caller.h"
#include "server/registry/settings/model_limits.h"
#include "server/serve/request/classify_service.h"
#include "server/serve/scheduling/admission.h"
#include "server/wire/message/read_message.h"

namespace vitrine {

// Callback for the answer or the error.
using InferDone = absl::AnyInvocable<void(absl::StatusOr<inference::ModelInferResponse>)>;

// Size of the batch that one request contains.
struct BatchSize {
  int64_t requests = 1;  // number of images
  int64_t bytes = 0;     // bytes of all images together
};

// Checks that an idle server would admit the whole batch. RESOURCE_EXHAUSTED names the limit, without a RetryInfo,
// because a retry cannot succeed. A single image always passes. `quota` is null for a caller without a quota.
absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits& model,
                        const CallerQuota* quota);

// Runs a ModelInfer request. Each of its images becomes a request of its own, which is admitted, batched and counted
// like other requests. One version answers all images; the images share call.held. If an image fails, the first error
// answers the whole request; the images that still wait are dropped and counted as ABORTED. A batch that even an idle
// server would not admit (see CheckBatch) is rejected as one request. `request` may be the error of a message that
// could not be parsed. Calls `done` exactly once: on this thread, or later on an executor's thread.
void Infer(ClassifyService& service, absl::StatusOr<ReceivedInfer> request, CallContext call, InferDone done);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_H_
