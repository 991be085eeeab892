// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/stream_origin.h"

#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/wire/rpc/call_credentials.h"
#include "server/wire/rpc/call_trace.h"

namespace vitrine {

absl::Status StreamOrigin::Open(CallParts& parts, RpcName rpc, const grpc::ServerContext& context,
                                const std::shared_ptr<LongCall>& call) {
  parts_ = &parts;
  rpc_ = rpc;
  deadline_ = DeadlineOf(context, parts.service.clock());
  return OrOutOfMemory([&]() -> absl::Status {
    trace_ = TraceOf(context);
    credentials_ = CredentialsOf(context);
    peer_ = context.peer();
    RETURN_IF_ERROR(Authorize().status());
    parts.streams.Add(call);
    return absl::OkStatus();
  });
}

void StreamOrigin::Describe(CallContext& request) const {
  request.peer = peer_;
  request.trace = trace_;
}

absl::StatusOr<Caller> StreamOrigin::Authorize() const {
  absl::StatusOr<Caller> caller = parts_->identity.Authorize(*rpc_, credentials_);
  parts_->service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

}  // namespace vitrine
