// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_origin.h"

#include <grpc/grpc_security_constants.h>

#include <chrono>
#include <iterator>

#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"

namespace vitrine {
namespace {

absl::StatusOr<Caller> AuthorizeBy(const CallParts& parts, RpcName rpc, const Credentials& credentials) {
  absl::StatusOr<Caller> caller = parts.identity.Authorize(rpc, credentials);
  parts.service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

}  // namespace

Credentials CredentialsOf(const grpc::ServerContextBase& context) {
  Credentials credentials;
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range("authorization");
  if (first != last) {
    const bool once = std::next(first) == last;
    credentials.authorization = once ? std::string(first->second.data(), first->second.size()) : std::string();
  }
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return credentials;
  for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_SUBJECT_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : peer->FindPropertyValues(property)) {
      credentials.certificate_names.emplace_back(value.data(), value.size());
    }
  }
  return credentials;
}

absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const grpc::ServerContextBase& context) {
  return AuthorizeBy(parts, rpc, CredentialsOf(context));
}

absl::Time DeadlineOf(const grpc::ServerContext& context, const Clock& clock) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return clock.Now() + (absl::FromChrono(deadline) - absl::Now());
}

std::optional<TraceContext> TraceOf(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range("traceparent");
  if (begin == end || std::next(begin) != end) return std::nullopt;
  return ParseTraceparent({begin->second.data(), begin->second.size()});
}

absl::Status StreamOrigin::Open(CallParts& parts, RpcName rpc, const grpc::ServerContext& context,
                                const std::shared_ptr<LongCall>& call) {
  parts_ = &parts;
  rpc_ = rpc;
  deadline_ = DeadlineOf(context, parts.service.clock());
  return OrOutOfMemory([&]() -> absl::Status {
    trace_ = TraceOf(context);
    credentials_ = CredentialsOf(context);
    peer_ = context.peer();
    RETURN_IF_ERROR(AuthorizeBy(parts, rpc, credentials_).status());
    parts.streams.Add(call);
    return absl::OkStatus();
  });
}

absl::Status StreamOrigin::Describe(CallContext& request) const {
  request.deadline = deadline_;
  request.peer = peer_;
  request.trace = trace_;
  const absl::StatusOr<Caller> caller = AuthorizeBy(*parts_, *rpc_, credentials_);
  request.caller = CallerOf(caller);
  return caller.status();
}

}  // namespace vitrine
