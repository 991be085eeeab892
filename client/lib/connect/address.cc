// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Maximum length of the path of a unix socket: a sockaddr_un has 108 bytes for the path and its final zero byte.
constexpr size_t kLongestSocketPath = 107;

struct Endpoint {
  std::string host;  // without brackets
  std::string port;
};

absl::StatusOr<Endpoint> SplitHostPort(absl::string_view text) {
  const auto wrong = [&](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("the server's address \"", text, "\" ", what,
                                                   "; give host:port, as in gpu-box:8500 or [::1]:8500"));
  };
  if (const size_t scheme = text.find("://"); scheme != absl::string_view::npos) {
    const absl::string_view rest = text.substr(scheme + 3), place = rest.substr(0, rest.find('/'));
    const bool secure = scheme > 0 && absl::ascii_tolower(static_cast<unsigned char>(text[scheme - 1])) == 's';
    return absl::InvalidArgumentError(
        absl::StrCat("the server's address \"", text, "\" is a URL; give its host and port, as in ",
                     place.empty() ? "gpu-box" : place, absl::StrContains(place, ":") ? "" : ":8500",
                     secure ? ", and TLS (--tls)" : ""));
  }
  const size_t colon = text.rfind(':');
  const bool bracketed = absl::StartsWith(text, "[");
  if (colon == absl::string_view::npos || (bracketed && text[colon - 1] != ']')) return wrong("has no port");
  Endpoint endpoint{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  int port = 0;
  if (!absl::SimpleAtoi(endpoint.port, &port) || port < 1 || port > 65535) return wrong("has no port from 1 to 65535");
  if (bracketed) endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  if (endpoint.host.empty()) return wrong("names no host");
  if (!bracketed && absl::StrContains(endpoint.host, ":")) return wrong("needs its IPv6 address in brackets");
  if (absl::StrContains(endpoint.host, "/")) return wrong("has a path");
  return endpoint;
}

bool IsLoopback(const std::string& host) {
  in_addr four;
  return host == "localhost" || host == "::1" ||
         (inet_pton(AF_INET, host.c_str(), &four) == 1 && host.starts_with("127."));
}

absl::StatusOr<ServerAddress> ParseSocket(const std::string& address) {
  const bool abstract = absl::StartsWith(address, "unix-abstract:");
  const std::string path = address.substr(abstract ? sizeof("unix-abstract:") - 1 : sizeof("unix:") - 1);
  if (path.empty()) return absl::InvalidArgumentError("the server's address names no socket; give unix:PATH");
  if (path.size() > kLongestSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat("the server's address has a socket path of ", path.size(),
                                                   " characters; the maximum is ", kLongestSocketPath, " characters"));
  }
  return ServerAddress{.uri = address, .local = true};
}

// Parses gRPC's own list: "ipv4:1.2.3.4:8500,1.2.3.5:8500".
absl::StatusOr<ServerAddress> ParseNumeric(const std::string& address) {
  ServerAddress result{.uri = address, .local = true};
  const std::vector<std::string> parts = absl::StrSplit(address.substr(sizeof("ipv4:") - 1), ',');
  for (const std::string& part : parts) {
    ASSIGN_OR_RETURN(const Endpoint endpoint, SplitHostPort(part));
    result.local = result.local && IsLoopback(endpoint.host);
    result.host = parts.size() == 1 ? endpoint.host : "";
  }
  result.balanced = parts.size() > 1;
  return result;
}

}  // namespace

absl::StatusOr<ServerAddress> ParseAddress(const std::string& address) {
  if (address.empty()) return absl::InvalidArgumentError("the server's address is empty; give host:port");
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:")) return ParseSocket(address);
  if (absl::StartsWith(address, "ipv4:") || absl::StartsWith(address, "ipv6:")) return ParseNumeric(address);
  if (absl::StartsWith(address, "dns:")) {
    const absl::string_view rest = absl::string_view(address).substr(sizeof("dns:") - 1);
    // dns:NAME, dns:///NAME or dns://RESOLVER/NAME
    const size_t slash = rest.rfind('/');
    ASSIGN_OR_RETURN(const Endpoint endpoint,
                     SplitHostPort(slash == absl::string_view::npos ? rest : rest.substr(slash + 1)));
    // A custom resolver may return any address, also for "localhost".
    const bool asks_resolver = absl::StartsWith(rest, "//") && !absl::StartsWith(rest, "///");
    return ServerAddress{
        .uri = address, .host = endpoint.host, .balanced = true, .local = !asks_resolver && IsLoopback(endpoint.host)};
  }
  ServerAddress result{.local = true};
  for (const absl::string_view part : absl::StrSplit(address, ',')) {
    ASSIGN_OR_RETURN(const Endpoint endpoint, SplitHostPort(part));
    result.local = result.local && IsLoopback(endpoint.host);
    result.hosts.emplace_back(part);
    result.host = endpoint.host;
  }
  if (result.hosts.size() > 1) {
    result.balanced = true;
    result.host.clear();
  } else {
    result.uri = address;
    result.hosts.clear();
  }
  return result;
}

absl::StatusOr<std::string> ResolveHosts(const std::vector<std::string>& hosts, bool partly) {
  absl::Status missing;
  std::vector<std::pair<std::string, std::string>> four, six;  // address and port
  for (const std::string& host : hosts) {
    ASSIGN_OR_RETURN(const Endpoint endpoint, SplitHostPort(host));
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found); error != 0) {
      missing = absl::UnavailableError(absl::StrCat("no address of ", endpoint.host, ": ", gai_strerror(error)));
      if (!partly) return missing;
      continue;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      char text[INET6_ADDRSTRLEN] = "";
      if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) continue;
      (at->ai_family == AF_INET6 ? six : four).emplace_back(text, endpoint.port);
    }
  }
  if (four.empty() && six.empty() && !missing.ok()) return missing;
  // A gRPC target has addresses of one family. If there are IPv6 addresses, IPv4 addresses are mapped to IPv6.
  std::vector<std::string> texts;
  for (const auto& [text, port] : six) texts.push_back(absl::StrCat("[", text, "]:", port));
  for (const auto& [text, port] : four) {
    texts.push_back(six.empty() ? absl::StrCat(text, ":", port) : absl::StrCat("[::ffff:", text, "]:", port));
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return absl::StrCat(six.empty() ? "ipv4:" : "ipv6:", absl::StrJoin(texts, ","));
}

}  // namespace vitrine
