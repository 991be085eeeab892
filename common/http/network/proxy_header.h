// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_PROXY_HEADER_H_
#define VITRINE_COMMON_HTTP_NETWORK_PROXY_HEADER_H_

#include <sys/socket.h>

#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Maximum size of the header with its extensions.
inline constexpr size_t kMaxProxyHeaderBytes = 4096;

// A header of the PROXY protocol, version 2 (HAProxy, "The PROXY protocol", section 2.2).
struct ProxyHeader {
  // client address; nullopt for LOCAL (the proxy's own probes) and for anything other than TCP over IPv4 or IPv6
  std::optional<sockaddr_storage> client;
  size_t bytes = 0;  // size of the header; 0: no header
};

// Parses the first bytes of a connection. UNAVAILABLE: more bytes are needed. INVALID_ARGUMENT: the signature is
// present, but the header is malformed or longer than kMaxProxyHeaderBytes.
absl::StatusOr<ProxyHeader> ReadProxyHeader(absl::string_view first);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_NETWORK_PROXY_HEADER_H_
