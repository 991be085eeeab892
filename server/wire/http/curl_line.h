// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_
#define VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/http/exchange.h"

namespace vitrine {

// What to type so that `model` classifies a picture, as part of a sentence:
//   curl --data-binary @PICTURE http://HOST/v1/models/NAME[/versions/VERSION]:classify
// with the host that the request was sent to. What could not be pasted into a shell is left as a word in capitals.
std::string CurlLine(const HttpRequest& request, const std::string& model, const std::string& version);

// Whether a body is meant to be a JPEG, PNG or WebP, whole or not.
bool LooksLikePicture(std::string_view body);

// INVALID_ARGUMENT if the body is no JPEG, PNG or WebP, or one of which curl's -d has left out bytes; `curl_line` is
// the way out. What else may be wrong with a picture is found where it is read.
absl::Status CheckPicture(std::string_view body, const std::string& curl_line);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CURL_LINE_H_
