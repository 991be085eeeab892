// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/http/head.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Status of a call as sent to the client.
struct GrpcStatus {
  int code = 0;              // canonical code
  std::string message = {};  // UTF-8
  std::string details = {};  // serialized google.rpc.Status, or empty
};

// Converts the status of a call to the status that its client receives. Codes are unchanged. Messages are kept, except
// for INTERNAL (unless made by GrpcProtocolError), UNKNOWN and DATA_LOSS. Messages of these three codes may come from a
// library and contain paths, addresses or another client's data, so a fixed message replaces them; log the original
// first. The retry delay (see RetryAfter) becomes a google.rpc.RetryInfo in `details`.
GrpcStatus ToGrpcStatus(const absl::Status& status);

// Converts the status of one request on a stream with the rules of ToGrpcStatus. The status must not be OK.
v1::StreamError ToStreamError(const absl::Status& status);

// Returns INTERNAL, the error for a client that violates the gRPC protocol. Its message is `sentence`, which is sent to
// the client.
absl::Status GrpcProtocolError(std::string_view sentence);

// Returns the trailer grpc-status and, if they are not empty, grpc-message and grpc-status-details-bin.
HttpHeaders GrpcTrailers(const absl::Status& status);

// Returns true if the messages of errors with this code are not sent to clients (except for GrpcProtocolError).
bool IsWithheld(absl::StatusCode code);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_STATUS_H_
