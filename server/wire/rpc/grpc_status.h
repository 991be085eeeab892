// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The status that a caller sees, the only mapping in the server. Codes are canonical and carry over. Refusals keep
// their sentence, since they are written for the caller; INTERNAL, UNKNOWN and DATA_LOSS get a fixed text, since what()
// of a library may name paths, addresses or another caller's data (log it before). RetryAfter of the status becomes a
// google.rpc.RetryInfo in grpc-status-details-bin.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The same for a request of a stream. Requires a status that is not OK.
v1::StreamError ToStreamError(const absl::Status& status);

// Whether the sentence of this code is withheld from callers.
bool IsWithheld(absl::StatusCode code);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
