// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
#define VITRINE_CLIENT_LIB_CONNECT_PROXY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// Returns the HTTP proxy that gRPC uses for `host` (without brackets), as "10.0.0.1:3128 of $http_proxy"; empty: none.
// The first of $grpc_proxy, $https_proxy and $http_proxy that is set gives the proxy, with scheme http, as in gRPC; an
// empty value means no proxy. $no_grpc_proxy, else $no_proxy, else $NO_PROXY lists the exceptions.
std::string ProxyOf(const std::string& host);

// True if a no_proxy list contains `host`, by curl's rules. Entries are separated by commas or spaces: * for every
// host, a name (NAME also matches all of .NAME), an address, or a network such as 10.0.0.0/8. Names are not resolved.
bool IsExcepted(const std::string& host, absl::string_view no_proxy);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
