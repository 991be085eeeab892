// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALL_TRACE_H_
#define VITRINE_SERVER_WIRE_RPC_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include <optional>

#include "server/observe/trace_context.h"

namespace vitrine {

// What the call's metadata says in `traceparent`. Nothing where there is none, more than one, or a malformed one.
std::optional<TraceContext> TraceOf(const grpc::ServerContextBase& context);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_TRACE_H_
