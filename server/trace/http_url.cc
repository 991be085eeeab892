// SPDX-License-Identifier: Apache-2.0
#include "server/trace/http_url.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace vitrine {

absl::StatusOr<HttpUrl> ParseHttpUrl(absl::string_view url) {
  HttpUrl parsed;
  parsed.is_tls = absl::ConsumePrefix(&url, "https://");
  if (!parsed.is_tls && !absl::ConsumePrefix(&url, "http://")) {
    return absl::InvalidArgumentError("does not begin with http:// or https://");
  }
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7f && c != '#' && c != '@'; })) {
    return absl::InvalidArgumentError("has a character that is not allowed in an address");
  }
  const absl::string_view authority = url.substr(0, url.find_first_of("/?"));
  const absl::string_view path = url.substr(authority.size());
  const size_t bracket = absl::StartsWith(authority, "[") ? authority.find(']') : 0;
  const size_t colon = bracket == absl::string_view::npos ? bracket : authority.find(':', bracket);
  absl::string_view host = authority.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) host = "";
  if (host.empty()) return absl::InvalidArgumentError("has no host");
  int port = parsed.is_tls ? 443 : 80;
  if (colon != absl::string_view::npos &&
      (!absl::SimpleAtoi(authority.substr(colon + 1), &port) || port < 1 || port > 65535)) {
    return absl::InvalidArgumentError("has no port from 1 to 65535");
  }
  parsed.host = std::string(host);
  parsed.port = absl::StrCat(port);
  parsed.authority = std::string(authority);
  parsed.path = absl::StrCat(absl::StartsWith(path, "/") ? "" : "/", path);
  return parsed;
}

}  // namespace vitrine
