// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/proxy.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace vitrine {
namespace {

constexpr std::array kVariables = {"grpc_proxy", "https_proxy", "http_proxy"};
constexpr std::array kExceptions = {"no_grpc_proxy", "no_proxy", "NO_PROXY"};

// Returns the first variable that is set, and its value.
template <size_t n>
std::optional<std::pair<const char*, const char*>> FirstOf(const std::array<const char*, n>& names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr) return std::pair(name, value);
  }
  return std::nullopt;
}

// Returns the bytes of a numeric IPv4 or IPv6 address; empty for anything else.
std::string AddressBytes(const std::string& text) {
  in_addr four = {};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return {reinterpret_cast<const char*>(&four), sizeof(four)};
  in6_addr six = {};
  if (inet_pton(AF_INET6, text.c_str(), &six) == 1) return {reinterpret_cast<const char*>(&six), sizeof(six)};
  return "";
}

// Returns true if the first `bits` of two addresses of one family are equal.
bool AreInOneNetwork(const std::string& a, const std::string& b, size_t bits) {
  const size_t whole = bits / 8, rest = bits % 8;
  if (!std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(whole), b.begin())) return false;
  return rest == 0 || ((a[whole] ^ b[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

// Returns true if `part`, an address or a network ADDRESS/BITS, contains `address`.
bool HoldsAddress(absl::string_view part, const std::string& address) {
  const std::pair<std::string, std::string> halves = absl::StrSplit(part, absl::MaxSplits('/', 1));
  const std::string network = AddressBytes(halves.first);
  if (network.empty() || network.size() != address.size()) return false;
  size_t bits = 8 * network.size();
  const size_t most = bits;
  if (absl::StrContains(part, "/") && (!absl::SimpleAtoi(halves.second, &bits) || bits > most)) return false;
  return AreInOneNetwork(network, address, bits);
}

absl::string_view WithoutDots(absl::string_view name) {
  while (absl::ConsumePrefix(&name, ".")) continue;
  while (absl::ConsumeSuffix(&name, ".")) continue;
  return name;
}

}  // namespace

absl::StatusOr<std::optional<Proxy>> ProxyOf(const std::string& host) {
  const auto variable = FirstOf(kVariables);
  if (!variable.has_value()) return std::nullopt;
  if (const auto except = FirstOf(kExceptions); except.has_value() && IsExcepted(host, except->second)) {
    return std::nullopt;
  }
  const absl::string_view value = absl::StripAsciiWhitespace(variable->second);
  if (value.empty()) return std::nullopt;
  const size_t mark = value.find("://");
  const bool has_scheme = mark != absl::string_view::npos;
  const std::string scheme = has_scheme ? absl::AsciiStrToLower(value.substr(0, mark)) : "http";
  const absl::string_view rest = has_scheme ? value.substr(mark + 3) : value;
  const absl::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (std::ranges::count(authority, '@') > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the user name or password in $", variable->first, " has an @; write it as %40"));
  }
  const absl::string_view place = authority.substr(authority.rfind('@') + 1);  // without user name and password
  if (place.empty()) return absl::InvalidArgumentError(absl::StrCat("$", variable->first, " names no proxy; unset it"));
  if (scheme != "http") {
    return absl::InvalidArgumentError(
        absl::StrCat(variable->first, "=", scheme, "://", place,
                     ": only http:// proxies are supported; unset it or add the server to no_proxy"));
  }
  return Proxy{.url = absl::StrCat("http://", rest), .name = absl::StrCat(place, " of $", variable->first)};
}

bool IsExcepted(const std::string& host, absl::string_view no_proxy) {
  const std::string name = absl::AsciiStrToLower(WithoutDots(host));
  const std::string address = AddressBytes(name);
  for (const absl::string_view text : absl::StrSplit(no_proxy, absl::ByAnyChar(", \t\n"), absl::SkipEmpty())) {
    if (text == "*") return true;
    std::string part = absl::AsciiStrToLower(WithoutDots(text));
    std::erase_if(part, [](char c) { return c == '[' || c == ']'; });
    if (part.empty()) continue;
    if (address.empty() ? name == part || absl::EndsWith(name, absl::StrCat(".", part)) : HoldsAddress(part, address)) {
      return true;
    }
  }
  return false;
}

}  // namespace vitrine
