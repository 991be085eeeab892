// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TRACEPARENT_H_
#define VITRINE_CLIENT_TRACEPARENT_H_

#include <grpcpp/client_context.h>

#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// A value of W3C Trace Context's header `traceparent`, unchanged. INVALID_ARGUMENT: it is none, and what one looks
// like.
absl::StatusOr<std::string> CheckTraceparent(const std::string& text);

// Lets a call say whose part it is. Empty: nothing is said.
void AddTraceparent(const std::string& traceparent, grpc::ClientContext& context);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TRACEPARENT_H_
