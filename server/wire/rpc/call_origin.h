// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_CALL_ORIGIN_H_
#define VITRINE_SERVER_WIRE_RPC_CALL_ORIGIN_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/credentials.h"
#include "server/identity/identity.h"
#include "server/observe/trace_context.h"
#include "server/process/clock.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/calls.h"

namespace vitrine {

// What came with a call: the header "authorization" and the client's certificate, which TLS has verified. The user
// behind a unix socket and the kind of listener are not in the context; listeners that know them add them.
Credentials CredentialsOf(const grpc::ServerContextBase& context);

// The one check in front of every call: see Identity::Authorize. Interceptors of gRPC C++ cannot reject, so it stands
// in the calls themselves, before they look at their messages.
absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const grpc::ServerContextBase& context);

// The deadline of a call, which is wall-clock time, on a clock that never jumps.
absl::Time DeadlineOf(const grpc::ServerContext& context, const Clock& clock);

// What the call's metadata says in `traceparent`. Nothing where there is none, more than one, or a malformed one.
std::optional<TraceContext> TraceOf(const grpc::ServerContextBase& context);

// What the call of a stream says once, for all requests on it. Constant after Open; thread-compatible.
class StreamOrigin {
 public:
  // Reads the call that has come, and lists it among the streams if its caller may make it. `parts` and `context`
  // outlive the origin. What Authorize refuses, or RESOURCE_EXHAUSTED; the stream is to end with it.
  absl::Status Open(CallParts& parts, RpcName rpc, const grpc::ServerContext& context,
                    const std::shared_ptr<LongCall>& call);

  // Puts into the context of one request what the stream says of all: peer, trace, the deadline, and the caller by the
  // credentials that came with the call, as the rules are now: a token that is taken away ends with its next request,
  // not with the stream. Counted. What Authorize refuses; std::bad_alloc where memory runs out.
  absl::Status Describe(CallContext& request) const;

 private:
  CallParts* parts_ = nullptr;
  std::optional<RpcName> rpc_;
  absl::Time deadline_;
  std::optional<TraceContext> trace_;
  Credentials credentials_;
  std::string peer_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_CALL_ORIGIN_H_
