// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_ADDRESS_H_
#define VITRINE_CLIENT_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Where servers are, as ClientOptions::address says it.
struct ServerAddress {
  std::string uri = {};                 // as gRPC takes it; empty where `hosts` are several
  std::vector<std::string> hosts = {};  // several host:port, in order; otherwise empty
  std::string host = {};                // the only host, without brackets; empty where there are several, or a socket
  bool balanced = false;                // requests are spread over what it resolves to
  bool local = false;                   // never leaves this machine: loopback, or a socket in the file system
};

// INVALID_ARGUMENT: no port, a list of anything but host:port, another scheme than dns, ipv4, ipv6, unix and
// unix-abstract.
absl::StatusOr<ServerAddress> ParseAddress(const std::string& address);

// gRPC's address of several hosts, whose names are resolved now. UNAVAILABLE names one that has no address; `partly`:
// only if none has one.
absl::StatusOr<std::string> ResolveHosts(const std::vector<std::string>& hosts, bool partly = false);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ADDRESS_H_
