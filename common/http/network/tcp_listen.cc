// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/tcp_listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

int PortOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

void SetPort(sockaddr* address, int port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
  }
}

// Returns a listening socket; on failure returns -1 and sets errno. Accepted connections inherit the socket's options.
int ListenOn(const addrinfo& where, bool both_families, absl::Duration unacknowledged) {
  const int made = socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const int yes = 1;
  const int only_v6 = both_families ? 0 : 1;
  const auto timeout = static_cast<unsigned>(absl::ToInt64Milliseconds(unacknowledged));
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(made, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
  if (where.ai_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  if (bind(made, where.ai_addr, where.ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

absl::StatusOr<std::vector<int>> Resolve(const std::string& host, const std::string& port,
                                         absl::Duration unacknowledged) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
  absl::StatusOr<std::vector<int>> sockets = ListenOnAll(found, host == "::", unacknowledged);
  freeaddrinfo(found);
  return sockets;
}

}  // namespace

absl::StatusOr<std::vector<int>> ListenOnAll(const addrinfo* addresses, bool both_families,
                                             absl::Duration unacknowledged) {
  std::vector<int> sockets;
  int error = 0;
  bool missing_only = true;
  for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
    if (!sockets.empty()) SetPort(each->ai_addr, PortOf(sockets.front()));
    const int listening = ListenOn(*each, both_families, unacknowledged);
    if (listening >= 0) {
      sockets.push_back(listening);
      continue;
    }
    error = errno;
    missing_only = error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
    if (!missing_only) break;
  }
  if (!sockets.empty() && missing_only) return sockets;
  for (const int other : sockets) close(other);
  return absl::UnavailableError(strerror(error));
}

absl::StatusOr<TcpListening> ListenOnTcp(const std::string& address, const std::string& purpose,
                                         absl::Duration unacknowledged) {
  const size_t colon = address.rfind(':');
  const std::string written = address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool bracketed = written.size() > 2 && written.front() == '[' && written.back() == ']';
  const std::string host = bracketed ? written.substr(1, written.size() - 2) : written;
  absl::StatusOr<std::vector<int>> sockets = Resolve(host, port, unacknowledged);
  if (!sockets.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, " for ", purpose, ": ", std::string(sockets.status().message())));
  }
  const bool is_v6 = host.find(':') != std::string::npos;
  std::string bound = absl::StrCat(is_v6 ? "[" : "", host, is_v6 ? "]:" : ":", PortOf(sockets->front()));
  return TcpListening{*std::move(sockets), std::move(bound)};
}

std::string BoundAddress(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  char host[NI_MAXHOST] = "?";
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  }
  return bound.ss_family == AF_INET6 ? absl::StrCat("[", host, "]:", PortOf(socket))
                                     : absl::StrCat(host, ":", PortOf(socket));
}

}  // namespace vitrine
