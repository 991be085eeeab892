// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_HTTP_URL_H_
#define VITRINE_SERVER_TRACE_HTTP_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// An HTTP URL: http://HOST[:PORT][/PATH], or https:// for TLS.
struct HttpUrl {
  bool is_tls = false;
  std::string host;       // a name or an address, without the brackets of IPv6
  std::string port;       // for example "4318"; "80" or "443" if the URL has none
  std::string authority;  // host and port as written
  std::string path;       // includes the query; "/" if the URL has no path
};

// Parses a URL. The message of INVALID_ARGUMENT is the end of a sentence that begins with the URL: "has no host".
absl::StatusOr<HttpUrl> ParseHttpUrl(absl::string_view url);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_HTTP_URL_H_
