// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_NETWORK_H_
#define VITRINE_COMMON_HTTP_NETWORK_NETWORK_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// An IP network. An IPv4 network also contains its addresses in the form mapped into IPv6.
class Network {
 public:
  // Parses "10.0.0.0/8", "fd00::/8" or a single address. The message of INVALID_ARGUMENT contains the text.
  static absl::StatusOr<Network> Parse(const std::string& text);
  bool Contains(const sockaddr_storage& address) const;

 private:
  std::array<uint8_t, 16> address_ = {};  // IPv6, or IPv4 mapped into IPv6
  int bits_ = 0;
};

// Returns "ipv4:127.0.0.1:40000", "ipv6:[::1]:40000", or "unix:" for other families.
std::string AddressText(const sockaddr_storage& address);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_NETWORK_NETWORK_H_
