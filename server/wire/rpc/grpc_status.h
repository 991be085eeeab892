// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/http/head.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// How a call ends, as its caller reads it.
struct GrpcStatus {
  int code = 0;              // canonical
  std::string message = {};  // UTF-8
  std::string details = {};  // a serialised google.rpc.Status, or empty
};

// The status that a caller sees, the only mapping in the server. Codes are canonical and carry over. Refusals keep
// their sentence, since they are written for the caller; INTERNAL, UNKNOWN and DATA_LOSS get a fixed text, since what()
// of a library may name paths, addresses or another caller's data (log it before). RetryAfter of the status becomes a
// google.rpc.RetryInfo in `details`.
GrpcStatus ToGrpcStatus(const absl::Status& status);

// The same for a request of a stream. Requires a status that is not OK.
v1::StreamError ToStreamError(const absl::Status& status);

// INTERNAL for a breach of gRPC's protocol by the client, with a sentence that the client may read.
absl::Status GrpcProtocolError(std::string_view sentence);

// grpc-status, grpc-message and grpc-status-details-bin.
HttpHeaders GrpcTrailers(const absl::Status& status);

// Returns true if callers do not get the sentence of a status with this code.
bool IsWithheld(absl::StatusCode code);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
