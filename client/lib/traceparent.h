// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_TRACEPARENT_H_
#define VITRINE_CLIENT_LIB_TRACEPARENT_H_

#include <grpcpp/client_context.h>

#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Checks a `traceparent` value of W3C Trace Context and returns it unchanged. INVALID_ARGUMENT: the value is invalid;
// the message shows the syntax.
absl::StatusOr<std::string> CheckTraceparent(const std::string& text);

// Adds `traceparent` to the headers of a call, unless the text is empty.
void AddTraceparent(const std::string& traceparent, grpc::ClientContext& context);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_TRACEPARENT_H_
