// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_
#define VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_

#include <netdb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vitrine {

// Non-blocking listening sockets for one address.
struct TcpListening {
  std::vector<int> sockets;
  std::string address;  // bound host:port; an IPv6 host is in brackets
};

// Listens on host:port; port 0 picks a free port. 0.0.0.0 means IPv4, [::] means IPv6 and IPv4; a name is bound at all
// its addresses. The kernel drops a connection whose data stay unacknowledged for `unacknowledged`. UNAVAILABLE if the
// address cannot be bound; the message has the reason and `purpose`: "cannot listen on ... for --listen: ...".
absl::StatusOr<TcpListening> ListenOnTcp(const std::string& address, const std::string& purpose,
                                         absl::Duration unacknowledged);

// Returns one listening socket per address, all on the same port; port 0 picks a free port. Skips addresses that this
// machine does not have (such as ::1 if IPv6 is disabled) if at least one other address is bound. On failure nothing is
// bound, and UNAVAILABLE has the system's message. `both_families` lets an IPv6 socket also accept IPv4.
absl::StatusOr<std::vector<int>> ListenOnAll(const addrinfo* addresses, bool both_families,
                                             absl::Duration unacknowledged);

// Returns the bound address of a socket; an IPv6 host is in brackets.
std::string BoundAddress(int socket);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_NETWORK_TCP_LISTEN_H_
