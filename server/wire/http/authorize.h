// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
#define VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_

#include "absl/status/statusor.h"
#include "base/http/exchange.h"
#include "server/identity/identity.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// Who calls, if they may call `rpc`, by the bearer token in the header Authorization or the certificate
// that the client has shown; counted as over gRPC. Errors as
// Identity::Authorize.
absl::StatusOr<Caller> AuthorizeHttp(const Identity& identity, ClassifyService& service, RpcName rpc,
                                     const HttpRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
