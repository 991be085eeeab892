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

// Pairs of name and value.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Request line and headers of a request.
struct HttpHead {
  std::string method;        // "GET"
  std::string path;          // decoded, without query; may contain any byte but NUL
  bool has_escapes = false;  // the path contained percent signs
  std::string query;         // part after "?", not decoded
  HttpHeaders headers;       // in order, values trimmed; ":authority" of HTTP/2 is stored as "host"
  int major_version = 1;     // 1 or 2
  int minor_version = 1;     // minor version of HTTP/1.x

  // Returns the value of a header, ignoring the case of its name; nullopt if absent, "" if there are several.
  std::optional<std::string> Header(absl::string_view name) const;
  // Returns the announced length of the body; nullopt if absent, as with chunked encoding.
  std::optional<int64_t> ContentLength() const;
  // Returns true if a body follows the headers, even if it is not read.
  bool AnnouncesBody() const;
  // Returns true if the client wants to keep the connection open.
  bool KeepsAlive() const;
};

// Parses path and query of a request target, also in a proxy's form. INVALID_ARGUMENT for invalid percent-encoding.
absl::Status ReadTarget(absl::string_view target, HttpHead& head);

// INVALID_ARGUMENT if two parsers could disagree about the end of the body, which allows request smuggling.
absl::Status CheckBodyLength(const HttpHead& head);

// INVALID_ARGUMENT unless the request has exactly one valid host, as HTTP/1.1 and HTTP/2 require. HTTP/1.0 may have
// none.
absl::Status CheckHost(const HttpHead& head);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_HEAD_H_
