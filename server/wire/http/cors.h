// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CORS_H_
#define VITRINE_SERVER_WIRE_HTTP_CORS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/http/exchange.h"

namespace vitrine {

// Which pages of other origins may read the answers, as browsers ask (Fetch, "CORS protocol"). Without any the port
// says nothing of it, and browsers let none. Thread-safe.
class CrossOrigin {
 public:
  explicit CrossOrigin(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // INVALID_ARGUMENT names an origin that no browser would send: it must be SCHEME://HOST[:PORT] in small letters.
  static absl::Status Validate(const std::vector<std::string>& origins);

  // Adds to the answer what the request's origin is to be told; the answer to a browser's question beforehand
  // (OPTIONS), which carries no credentials.
  std::optional<HttpResponse> Apply(HttpRequest& request) const;

 private:
  const std::vector<std::string> origins_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CORS_H_
