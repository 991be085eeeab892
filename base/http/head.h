// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_HEAD_H_
#define VITRINE_BASE_HTTP_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Longest head of a request that is read unless another limit is set.
inline constexpr size_t kMaxHttpHeadBytes = size_t{16} << 10;

// Names and values.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// HttpHead is what stands before the body of a request.
struct HttpHead {
  std::string method;        // "GET"
  std::string path;          // decoded, without query; may hold any byte but NUL
  bool has_escapes = false;  // the path was written with percent signs
  std::string query;         // what follows the "?", as it came
  HttpHeaders headers;       // in their order, values without spaces around them; ":authority" of HTTP/2 is "host"
  int major_version = 1;     // 1, or 2
  int minor_version = 1;     // of HTTP/1.x

  // The value of the header, whatever the case of its name; nothing if it is absent, "" if it is there twice.
  std::optional<std::string> Header(absl::string_view name) const;
  // The bytes of the body that are announced; nothing where they are not, or in chunks.
  std::optional<int64_t> ContentLength() const;
  // Tells whether bytes of a body follow the head, whether or not they can be read.
  bool AnnouncesBody() const;
  // Tells whether the client means to send another request on the connection.
  bool KeepsAlive() const;
};

// Writes path and query of a request's target, a proxy's form of it included. INVALID_ARGUMENT if its percent signs
// mean no bytes.
absl::Status ReadTarget(absl::string_view target, HttpHead& head);

// INVALID_ARGUMENT where two readers may see the end of the body at different places, which would let one hide a
// request from the other.
absl::Status CheckBodyLength(const HttpHead& head);

// INVALID_ARGUMENT unless the request names one host, as HTTP/1.1 and HTTP/2 demand, and it can be one. HTTP/1.0 may
// name none.
absl::Status CheckHost(const HttpHead& head);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_HEAD_H_
