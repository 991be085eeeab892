// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_ADDRESS_H_
#define VITRINE_CLIENT_LIB_CONNECT_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Parsed form of ClientOptions::address.
struct ServerAddress {
  std::string uri = {};                 // gRPC target; empty if `hosts` has several entries
  std::vector<std::string> hosts = {};  // entries of a list of host:port; otherwise empty
  std::string host = {};                // the only host, without brackets; empty for several hosts or a socket
  bool balanced = false;                // true: requests are distributed over all resolved addresses
  bool local = false;                   // true: traffic stays on this machine (loopback or a Unix socket)
};

// Parses an address. INVALID_ARGUMENT: the text has none of the forms of ClientOptions::address.
absl::StatusOr<ServerAddress> ParseAddress(const std::string& address);

// Resolves the names of several hosts and returns their addresses as a gRPC target. `partly`: hosts without an address
// are left out. UNAVAILABLE: a host (`partly`: every host) has no address; the message names a host.
absl::StatusOr<std::string> ResolveHosts(const std::vector<std::string>& hosts, bool partly = false);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_ADDRESS_H_
