// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_TCP_LISTEN_H_
#define VITRINE_BASE_TCP_LISTEN_H_

#include <netdb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vitrine {

// Sockets that listen for one address, and do not block.
struct TcpListening {
  std::vector<int> sockets;
  std::string address;  // host:port as bound; an IPv6 host stands in brackets
};

// Binds host:port and lets connections queue up; port 0 picks a free one. 0.0.0.0 is IPv4 alone, [::] is IPv6 and IPv4;
// a name is bound at every address that it has. A connection whose data nobody acknowledges for `unacknowledged` is
// dropped by the kernel. UNAVAILABLE if the address cannot be bound, and why, with `purpose`: "cannot listen on ... for
// gRPC: ...".
absl::StatusOr<TcpListening> ListenOnTcp(const std::string& address, const std::string& purpose,
                                         absl::Duration unacknowledged);

// One listening socket for each address, all on one port; port 0 picks a free one. An address that this machine does
// not have (IPv6 switched off, though the hosts file names ::1) is left out if another one is bound. UNAVAILABLE with
// the system's words otherwise; then nothing is bound. `both_families` lets an IPv6 socket take IPv4 too.
absl::StatusOr<std::vector<int>> ListenOnAll(const addrinfo* addresses, bool both_families,
                                             absl::Duration unacknowledged);

// The address that a socket is bound to, as people write it; IPv6 in brackets.
std::string BoundAddress(int socket);

}  // namespace vitrine

#endif  // VITRINE_BASE_TCP_LISTEN_H_
