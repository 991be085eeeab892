// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
#define VITRINE_CLIENT_LIB_CONNECT_PROXY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// Returns the HTTP proxy of the environment that gRPC uses for a host, without brackets: "10.0.0.1:3128 of
// $http_proxy"; empty: none. As in gRPC, the first set variable of $grpc_proxy, $https_proxy and $http_proxy applies;
// if it is empty there is no proxy; its scheme is http. $no_grpc_proxy, else $no_proxy, else $NO_PROXY holds the
// exceptions.
std::string ProxyOf(const std::string& host);

// Returns true if a no_proxy list contains `host`, by curl's rules. Entries, separated by commas or spaces, are * for
// every host, names, which include all of .NAME, addresses, and networks such as 10.0.0.0/8. Names are not resolved.
bool IsExcepted(const std::string& host, absl::string_view no_proxy);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_PROXY_H_
