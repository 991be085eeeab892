// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_
#define VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_

#include <netdb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vitrine {

// Non-blocking listening sockets of one address.
struct TcpListening {
  std::vector<int> sockets;
  std::string address;  // host:port as bound; an IPv6 host is in brackets
};

// Listens on host:port; port 0 picks a free port. 0.0.0.0 is IPv4 only, [::] is IPv6 and IPv4; a name is bound at all
// its addresses. The kernel drops a connection whose data stay unacknowledged for `unacknowledged`. UNAVAILABLE if the
// address cannot be bound, with the reason and `purpose`: "cannot listen on ... for gRPC: ...".
absl::StatusOr<TcpListening> ListenOnTcp(const std::string& address, const std::string& purpose,
                                         absl::Duration unacknowledged);

// Returns one listening socket per address, all on one port; port 0 picks a free port. Addresses that this machine does
// not have (::1 in the hosts file with IPv6 disabled) are skipped if another one is bound. Otherwise UNAVAILABLE with
// the system's message; then nothing is bound. `both_families` lets an IPv6 socket accept IPv4 too.
absl::StatusOr<std::vector<int>> ListenOnAll(const addrinfo* addresses, bool both_families,
                                             absl::Duration unacknowledged);

// Returns the bound address of a socket; IPv6 in brackets.
std::string BoundAddress(int socket);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_
