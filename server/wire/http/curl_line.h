// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_
#define VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/http/exchange.h"

namespace vitrine {

// Returns the command that classifies an image with `model`, for an error message:
//   curl --data-binary @IMAGE http://HOST/v1/models/NAME[/versions/VERSION]:classify
// HOST is the value of the request's header Host. A part that is not safe to paste into a shell is replaced by a
// placeholder such as NAME.
std::string CurlLine(const HttpRequest& request, const std::string& model, const std::string& version);

// Returns true if a body begins like a JPEG, PNG or WebP, even if it is damaged.
bool LooksLikeImage(std::string_view body);

// Checks the beginning of an image. INVALID_ARGUMENT: the body is not a JPEG, PNG or WebP, or curl's -d has removed
// bytes from it; `curl_line` is part of the message. The decoder finds other faults.
absl::Status CheckImage(std::string_view body, const std::string& curl_line);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_
