// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
#define VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_

#include "absl/status/statusor.h"
#include "common/http/exchange.h"
#include "server/identity/identity.h"
#include "server/observe/model_metrics.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// Authorizes the client for `rpc` by the bearer token in the header Authorization or by its certificate. Counts and
// logs the result as for gRPC. For errors, see Identity::Authorize.
absl::StatusOr<Caller> AuthorizeHttp(const Identity& identity, ClassifyService& service, RpcName rpc,
                                     const HttpRequest& request);

// Returns the context of a request from its headers, without a deadline. `caller` is the result of AuthorizeHttp and
// may be an error.
CallContext HttpCall(Method method, const absl::StatusOr<Caller>& caller, const HttpRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
