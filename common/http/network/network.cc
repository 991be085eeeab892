// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr int kMappedBits = 96;  // length of the prefix of IPv4 addresses mapped into IPv6
using Bytes = std::array<uint8_t, 16>;

void Map(const void* ipv4, Bytes& mapped) {
  mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(&mapped[12], ipv4, 4);
}

}  // namespace

absl::StatusOr<Network> Network::Parse(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string host = text.substr(0, slash);
  Network network;
  uint8_t bytes[16];
  int most = 128, before = 0;
  if (inet_pton(AF_INET, host.c_str(), bytes) == 1) {
    Map(bytes, network.address_);
    most = 32;
    before = kMappedBits;
  } else if (inet_pton(AF_INET6, host.c_str(), network.address_.data()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no IP network; write it as in 10.0.0.0/8"));
  }
  int bits = most;
  if (slash != std::string::npos && (!absl::SimpleAtoi(text.substr(slash + 1), &bits) || bits < 0 || bits > most)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": a network has /0 to /", most));
  }
  network.bits_ = before + bits;
  return network;
}

bool Network::Contains(const sockaddr_storage& address) const {
  Bytes bytes = {};
  if (address.ss_family == AF_INET) {
    Map(&reinterpret_cast<const sockaddr_in&>(address).sin_addr, bytes);
  } else if (address.ss_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, bytes.size());
  } else {
    return false;
  }
  for (int bit = 0; bit < bits_; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((bytes[static_cast<size_t>(bit) / 8] ^ address_[static_cast<size_t>(bit) / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string AddressText(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
    return absl::StrCat("ipv4:", host, ":", ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return "unix:";
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], host, sizeof(host));
    return absl::StrCat("ipv4:", host, ":", ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
  return absl::StrCat("ipv6:[", host, "]:", ntohs(v6.sin6_port));
}

}  // namespace vitrine
