// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_REQUEST_ID_H_
#define VITRINE_SERVER_OBSERVE_REQUEST_ID_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/http/exchange.h"

namespace vitrine {

// Header in which gateways and clients send a request's id, in lower case as in HTTP/2 and gRPC metadata.
inline constexpr char kRequestIdHeader[] = "x-request-id";
inline constexpr size_t kMaxRequestIdHeaderBytes = 128;

// Returns the request's id: 1 to 128 printable ASCII bytes. Returns nullopt if the id is missing, repeated or invalid.
inline std::optional<std::string> RequestIdOf(const HttpRequest& request) {
  std::optional<std::string> id = request.Header(kRequestIdHeader);
  if (!id.has_value() || id->empty() || id->size() > kMaxRequestIdHeaderBytes ||
      !std::all_of(id->begin(), id->end(), [](unsigned char c) { return absl::ascii_isprint(c); })) {
    return std::nullopt;
  }
  return id;
}

// Copies the request's id, if there is one, to the headers of its response. Call once, before the request is handled.
inline void ReturnRequestId(HttpRequest& request) {
  if (std::optional<std::string> id = RequestIdOf(request); id.has_value()) {
    request.answer_headers.emplace_back(kRequestIdHeader, *std::move(id));
  }
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_REQUEST_ID_H_
