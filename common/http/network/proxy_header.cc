// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/proxy_header.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace vitrine {
namespace {

constexpr absl::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kFixedBytes = 16;
constexpr int kTcpOverIpv4 = 0x11, kTcpOverIpv6 = 0x21;
constexpr size_t kIpv4Bytes = 12, kIpv6Bytes = 36;  // size of two addresses and two ports

sockaddr_storage Ipv4Client(const char* at) {
  sockaddr_storage client = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(client);
  v4.sin_family = AF_INET;
  std::memcpy(&v4.sin_addr, at, 4);
  std::memcpy(&v4.sin_port, at + 8, 2);
  return client;
}

sockaddr_storage Ipv6Client(const char* at) {
  sockaddr_storage client = {};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(client);
  v6.sin6_family = AF_INET6;
  std::memcpy(&v6.sin6_addr, at, 16);
  std::memcpy(&v6.sin6_port, at + 32, 2);
  return client;
}

}  // namespace

absl::StatusOr<ProxyHeader> ReadProxyHeader(absl::string_view first) {
  const size_t compared = std::min(first.size(), kSignature.size());
  if (first.substr(0, compared) != kSignature.substr(0, compared)) return ProxyHeader();
  if (first.size() < kFixedBytes) return absl::UnavailableError("the header is incomplete");
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(first[at]); };
  const int version = byte(12) >> 4, command = byte(12) & 0xf, family = byte(13);
  const size_t length = size_t{byte(14)} << 8 | byte(15);
  if (version != 2 || command > 1 || kFixedBytes + length > kMaxProxyHeaderBytes) {
    return absl::InvalidArgumentError("the PROXY header is not version 2, or is too long");
  }
  if (first.size() < kFixedBytes + length) return absl::UnavailableError("the header is incomplete");
  ProxyHeader header = {.client = {}, .bytes = kFixedBytes + length};
  if (command == 0) return header;  // LOCAL: no client address
  if (family == kTcpOverIpv4 && length >= kIpv4Bytes) header.client = Ipv4Client(&first[kFixedBytes]);
  if (family == kTcpOverIpv6 && length >= kIpv6Bytes) header.client = Ipv6Client(&first[kFixedBytes]);
  if ((family == kTcpOverIpv4 || family == kTcpOverIpv6) && !header.client.has_value()) {
    return absl::InvalidArgumentError("the PROXY header is shorter than its addresses");
  }
  return header;
}

}  // namespace vitrine
