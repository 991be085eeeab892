// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/authorize.h"

#include "common/http/request_id.h"
#include "server/observe/trace_context.h"

namespace vitrine {

absl::StatusOr<Caller> AuthorizeHttp(const Identity& identity, ClassifyService& service, RpcName rpc,
                                     const HttpRequest& request) {
  absl::StatusOr<Caller> caller = identity.Authorize(
      rpc, {.authorization = request.Header("Authorization"), .certificate_names = request.peer->certificate_names});
  service.CountAuthorization(rpc, caller, request.peer->address, RequestIdOf(request.head).value_or(""));
  return caller;
}

CallContext HttpCall(Method method, const absl::StatusOr<Caller>& caller, const HttpRequest& request) {
  return {.caller = CallerOf(caller),
          .peer = request.peer->address,
          .method = method,
          .request_id = RequestIdOf(request.head).value_or(""),
          .cancelled = request.hung_up,
          .trace = ParseTraceparent(request.Header("traceparent").value_or(""))};
}

}  // namespace vitrine
