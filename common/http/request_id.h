// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_REQUEST_ID_H_
#define VITRINE_COMMON_HTTP_REQUEST_ID_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/http/head.h"

namespace vitrine {

// Header in which gateways and clients send a request's id, in lower case as in HTTP/2 and gRPC metadata.
inline constexpr char kRequestIdHeader[] = "x-request-id";
inline constexpr size_t kMaxRequestIdHeaderBytes = 128;

// Returns the request's id: 1 to 128 printable ASCII bytes. Returns nullopt if the id is missing, repeated or invalid.
inline std::optional<std::string> RequestIdOf(const HttpHead& head) {
  std::optional<std::string> id = head.Header(kRequestIdHeader);
  if (!id.has_value() || id->empty() || id->size() > kMaxRequestIdHeaderBytes ||
      !std::all_of(id->begin(), id->end(), [](unsigned char c) { return absl::ascii_isprint(c); })) {
    return std::nullopt;
  }
  return id;
}

// Returns the request's id, if there is one, as a header of the response.
inline HttpHeaders RequestIdHeader(const HttpHead& head) {
  std::optional<std::string> id = RequestIdOf(head);
  return id.has_value() ? HttpHeaders{{kRequestIdHeader, *std::move(id)}} : HttpHeaders();
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_REQUEST_ID_H_
