// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_HEAD_H_
#define VITRINE_COMMON_HTTP_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Default limit on the size of request headers.
inline constexpr size_t kMaxHttpHeadBytes = size_t{16} << 10;

// Names and values of headers.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Request line and headers of a request.
struct HttpHead {
  std::string method;        // "GET"
  std::string path;          // decoded, without the query; UTF-8 without NUL
  bool has_escapes = false;  // true: the path contained percent signs
  std::string query;         // part after "?", not decoded
  HttpHeaders headers;       // in their order, with trimmed values; ":authority" of HTTP/2 is stored as "host"
  int major_version = 1;     // 1 or 2
  int minor_version = 1;     // minor version of HTTP/1.x

  // Returns the value of a header, or nullopt if it is absent; names are compared without case. Returns "" if the
  // request has several headers of this name.
  std::optional<std::string> Header(absl::string_view name) const;
  // Returns the announced length of the body, or nullopt if there is none, for example with chunked encoding.
  std::optional<int64_t> ContentLength() const;
  // Returns true if the headers announce a body.
  bool AnnouncesBody() const;
  // Returns true if the client wants the connection to stay open after the response.
  bool KeepsAlive() const;
};

// Parses path and query of a request target, which may start with scheme and host. INVALID_ARGUMENT: invalid
// percent-encoding, or a path that is not UTF-8 or contains NUL.
absl::Status ReadTarget(absl::string_view target, HttpHead& head);

// Returns INVALID_ARGUMENT if two parsers could disagree about the end of the body, which would allow request
// smuggling.
absl::Status CheckBodyLength(const HttpHead& head);

// Returns INVALID_ARGUMENT if the request has no host (allowed in HTTP/1.0), several hosts or an invalid host.
absl::Status CheckHost(const HttpHead& head);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_HEAD_H_
