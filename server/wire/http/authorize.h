// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
#define VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/exchange.h"
#include "server/identity/identity.h"
#include "server/observe/model_metrics.h"
#include "server/process/clock.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// How long a request over HTTP may take that does not say when it needs its answer, and the longest that it may say.
inline constexpr absl::Duration kMaxHttpWait = absl::Seconds(60);

// Who calls, if they may call `rpc`, by the bearer token in the header Authorization or the certificate that the client
// has shown; counted as over gRPC. Errors as Identity::Authorize.
absl::StatusOr<Caller> AuthorizeHttp(const Identity& identity, ClassifyService& service, RpcName rpc,
                                     const HttpRequest& request);

// What the head of a request for an answer of the service says of it; `caller` is what AuthorizeHttp has found, also
// where that is a refusal.
CallContext HttpCall(Method method, const absl::StatusOr<Caller>& caller, const HttpRequest& request,
                     const Clock& clock);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_AUTHORIZE_H_
