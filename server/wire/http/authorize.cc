// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/authorize.h"

namespace vitrine {

absl::StatusOr<Caller> AuthorizeHttp(const Identity& identity, ClassifyService& service, RpcName rpc,
                                     const HttpRequest& request) {
  absl::StatusOr<Caller> caller = identity.Authorize(
      rpc, {.authorization = request.Header("Authorization"), .certificate_names = request.certificate_names});
  service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

}  // namespace vitrine
