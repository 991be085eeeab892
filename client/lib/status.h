// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_STATUS_H_
#define VITRINE_CLIENT_LIB_STATUS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "vitrine/v1/classifier.pb.h"

namespace grpc {
class Status;
}

namespace vitrine {

// Converts code and message. A google.rpc.RetryInfo in the details becomes a payload of the status. If the call reached
// the wrong port of a server, the message says which port to use.
absl::Status FromGrpc(const grpc::Status& status);

// Converts an error of a stream to the status of a unary call. `retry_after` becomes the payload that FromGrpc sets.
absl::Status FromStreamError(const v1::StreamError& error);

// Returns the retry delay that the server gave, counted from the arrival of its answer; nullopt if it gave none.
std::optional<absl::Duration> ServerRetryDelay(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_STATUS_H_
