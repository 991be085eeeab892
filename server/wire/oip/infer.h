// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/identity/caller.h"
#include "server/models/registry/model_limits.h"
#include "server/serve/request/classify_service.h"
#include "server/serve/scheduling/admission.h"
#include "server/wire/message/read_message.h"

namespace vitrine {

// The answer or refusal.
using InferDone = absl::AnyInvocable<void(absl::StatusOr<inference::ModelInferResponse>)>;

// The pictures of one request.
struct BatchSize {
  int64_t requests = 1;
  int64_t bytes = 0;  // of all together
};

// Whether all of a batch can be admitted, be the server as idle as it may. RESOURCE_EXHAUSTED with the limit and
// without RetryInfo where it cannot: trying again brings nothing. One picture alone always can. `quota` is null for a
// caller without one.
absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits& model,
                        const CallerQuota* quota);

// Carries a ModelInfer request through the service: each picture of it becomes one request, which is admitted, batched
// with everybody's and counted as every other. All of them are answered by one version, and share call.held. The first
// refusal is the answer to the whole; the rest is dropped and counted as ABORTED. A batch that no idle server would
// admit (see CheckBatch) is refused as one request. Calls `done` exactly once: on this thread, or later on an
// executor's. A message that could not be parsed passes here with its status.
void Infer(ClassifyService& service, absl::StatusOr<ReceivedInfer> request, CallContext call, InferDone done);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_H_
