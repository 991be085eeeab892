// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <new>

#include "absl/status/status.h"
#include "server/process/out_of_memory.h"
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

// Calls finish(status), which ends a call over gRPC; without memory for that with a status that takes none, since its
// text is as short as a string may be that is not allocated. Never throws.
template <typename FinishCall>
void FinishWith(const absl::Status& status, FinishCall finish) {
  try {
    finish(ToGrpcStatus(status));
  } catch (const std::bad_alloc&) {
    CountOutOfMemory();
    finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory"));
  }
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
