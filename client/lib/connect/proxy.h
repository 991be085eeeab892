// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
#define VITRINE_CLIENT_LIB_CONNECT_PROXY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

struct Proxy {
  std::string url;   // http://..., the only form that gRPC accepts
  std::string name;  // for messages, without user name and password: "10.0.0.1:3128 of $http_proxy"
};

// Returns the HTTP proxy for `host` (without brackets); nullopt: none. The proxy comes from the first of $grpc_proxy,
// $https_proxy and $http_proxy that is set. If that variable is empty, there is no proxy. The URL may lack the scheme,
// as with curl. The list of hosts without a proxy is the first of $no_grpc_proxy, $no_proxy and $NO_PROXY that is set.
// INVALID_ARGUMENT: the variable does not name an HTTP proxy; gRPC itself would then connect without a proxy. The
// message names the variable.
absl::StatusOr<std::optional<Proxy>> ProxyOf(const std::string& host);

// Returns true if a no_proxy list contains `host`, by curl's rules. Entries are separated by commas or spaces. An entry
// is * for every host, a name, an address, or a network such as 10.0.0.0/8. The name NAME also matches every name that
// ends in .NAME. Names are not resolved.
bool IsExcepted(const std::string& host, absl::string_view no_proxy);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
