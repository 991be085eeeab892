// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_PROXY_HEADER_H_
#define VITRINE_BASE_HTTP_PROXY_HEADER_H_

#include <sys/socket.h>

#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Longest header that is read, with its extensions.
inline constexpr size_t kMaxProxyHeaderBytes = 4096;

// A header of the PROXY protocol, version 2 (HAProxy, "The PROXY protocol", section 2.2).
struct ProxyHeader {
  // Address of the client; nothing for LOCAL (the proxy's own probes) and families other than TCP over IPv4 and IPv6.
  std::optional<sockaddr_storage> client;
  size_t bytes = 0;  // of the header; 0: the connection begins without one
};

// Reads the first bytes of a connection. UNAVAILABLE: more are needed. INVALID_ARGUMENT: the signature is there and
// the rest is malformed or longer than kMaxProxyHeaderBytes.
absl::StatusOr<ProxyHeader> ReadProxyHeader(absl::string_view first);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_PROXY_HEADER_H_
