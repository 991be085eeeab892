// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_NETWORK_H_
#define VITRINE_BASE_HTTP_NETWORK_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// An IP network. IPv4 networks also hold their addresses as mapped into IPv6.
class Network {
 public:
  // "10.0.0.0/8", "fd00::/8", or one address. INVALID_ARGUMENT names the text otherwise.
  static absl::StatusOr<Network> Parse(const std::string& text);
  bool Contains(const sockaddr_storage& address) const;

 private:
  std::array<uint8_t, 16> address_ = {};  // mapped into IPv6
  int bits_ = 0;
};

// "ipv4:127.0.0.1:40000", "ipv6:[::1]:40000", or "unix:" for every other family.
std::string AddressText(const sockaddr_storage& address);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_NETWORK_H_
