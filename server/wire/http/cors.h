// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CORS_H_
#define VITRINE_SERVER_WIRE_HTTP_CORS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/http/exchange.h"

namespace vitrine {

// Origins whose pages may read the answers; see "CORS protocol" in the Fetch standard. If there are no origins, no CORS
// headers are sent, so browsers let only pages of this server read the answers. Thread-safe.
class CrossOrigin {
 public:
  explicit CrossOrigin(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // Checks the origins. INVALID_ARGUMENT names an entry that does not have the form that browsers send:
  // SCHEME://HOST[:PORT] in lower case.
  static absl::Status Validate(const std::vector<std::string>& origins);

  // Adds the CORS headers for the request's origin to request.answer_headers. Returns the answer if the request is a
  // preflight (OPTIONS, without credentials) from an allowed origin.
  std::optional<HttpResponse> Apply(HttpRequest& request) const;

 private:
  const std::vector<std::string> origins_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CORS_H_
