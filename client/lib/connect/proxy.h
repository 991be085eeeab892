// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
#define VITRINE_CLIENT_LIB_CONNECT_PROXY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

struct Proxy {
  std::string url;   // http://..., the form that gRPC accepts
  std::string name;  // for messages, without user name and password: "10.0.0.1:3128 of $http_proxy"
};

// Returns the HTTP proxy for `host` (without brackets); nullopt: none. The first of $grpc_proxy, $https_proxy and
// $http_proxy that is set gives the proxy, and an empty value means no proxy. As with curl, the scheme may be missing.
// $no_grpc_proxy, else $no_proxy, else $NO_PROXY lists the exceptions. INVALID_ARGUMENT: the variable names no proxy,
// or a kind of proxy that gRPC does not support and would bypass; the message names the variable.
absl::StatusOr<std::optional<Proxy>> ProxyOf(const std::string& host);

// True if a no_proxy list contains `host`, by curl's rules. Entries are separated by commas or spaces: * for every
// host, a name (NAME also matches all of .NAME), an address, or a network such as 10.0.0.0/8. Names are not resolved.
bool IsExcepted(const std::string& host, absl::string_view no_proxy);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
