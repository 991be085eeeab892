// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_
#define VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/http/exchange.h"

namespace vitrine {

// Returns the HTTP status code of a rejection: 413 for TooLargeError, otherwise the HTTP code for the canonical code.
int HttpCode(const absl::Status& status);
int HttpCode(absl::StatusCode code);

// Returns {"error": SENTENCE}, as in the Open Inference Protocol. For INTERNAL and similar codes, a fixed sentence
// replaces the message, as over gRPC (see IsWithheld).
std::string ErrorBody(const absl::Status& status);
// Returns {"error": SENTENCE, "code": "INVALID_ARGUMENT"}, with the canonical name of the code.
std::string TypedErrorBody(const absl::Status& status);

// Returns {"error": {"message", "type", "param", "code"}, "code": CODE}. The member "error" has the form that OpenAI's
// clients expect, and the outer "code" is as in TypedErrorBody.
std::string OpenAiErrorBody(const absl::Status& status);
// Adds to an error the name of the wrong member of the body. OpenAiErrorBody writes this name as "param".
absl::Status AboutMember(absl::Status status, absl::string_view member);

// Returns the response to a rejected request. `body_of` is ErrorBody, TypedErrorBody or OpenAiErrorBody. Adds
// Retry-After if the status has a retry delay, and WWW-Authenticate for 401. The status must not be OK.
HttpResponse Refusal(const absl::Status& status, std::string (*body_of)(const absl::Status&));

// Returns 405 for a path that supports only the methods in `allow`, for example "GET, HEAD". `sentence` replaces the
// default text of the body.
HttpResponse MethodNotAllowed(absl::string_view allow, std::string (*body_of)(const absl::Status&),
                              absl::string_view sentence = "");

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_
