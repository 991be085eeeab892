// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_STATUS_H_
#define VITRINE_CLIENT_STATUS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "vitrine/v1/classifier.pb.h"

namespace grpc {
class Status;
}

namespace vitrine {

// The same code and message; a google.rpc.RetryInfo in the details becomes a payload of the status.
absl::Status FromGrpc(const grpc::Status& status);

// The status that the unary call would have ended with, its `retry_after` as the same payload.
absl::Status FromStreamError(const v1::StreamError& error);

// When the server asked to be called again, counted from its answer; nullopt if it did not say.
std::optional<absl::Duration> ServerRetryDelay(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_STATUS_H_
