// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_PROXY_H_
#define VITRINE_CLIENT_PROXY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// The HTTP proxy of the environment by which gRPC goes to a host, without brackets: "10.0.0.1:3128 of $http_proxy";
// empty: none. As gRPC has it, the first of $grpc_proxy, $https_proxy and $http_proxy that is set counts, one that is
// empty means none, and its scheme is http. $no_grpc_proxy, else $no_proxy, else $NO_PROXY holds the exceptions.
std::string ProxyOf(const std::string& host);

// True if a list of no_proxy holds `host`, as curl has it. Its parts, between commas or spaces, are * for every host,
// names, which stand for what ends in .NAME too, addresses, and networks as in 10.0.0.0/8. Names are not resolved.
bool IsExcepted(const std::string& host, absl::string_view no_proxy);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_PROXY_H_
