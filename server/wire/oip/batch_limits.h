// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_BATCH_LIMITS_H_
#define VITRINE_SERVER_WIRE_OIP_BATCH_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/identity/caller.h"
#include "server/models/registry/model_limits.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {

// The pictures of one request.
struct BatchSize {
  int64_t requests = 1;
  int64_t bytes = 0;  // of all together
};

// Whether all of a batch can be admitted, be the server as idle as it may. RESOURCE_EXHAUSTED with the limit and
// without RetryInfo where it cannot: trying again brings nothing. One picture alone always can. `model` is null for a
// model without limits.
absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits* model,
                        const CallerQuota* quota);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_BATCH_LIMITS_H_
