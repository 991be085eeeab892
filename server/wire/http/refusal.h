// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_
#define VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http/exchange.h"

namespace vitrine {

// The status code of HTTP for a refusal: 413 for one of TooLargeError, else what its canonical code maps to.
int HttpCode(const absl::Status& status);
int HttpCode(absl::StatusCode code);

// {"error": SENTENCE}, as the Open Inference Protocol has it. INTERNAL and the like keep their sentence to themselves,
// as over gRPC.
std::string ErrorBody(const absl::Status& status);
// The same with the canonical name of the code: {"error": SENTENCE, "code": "INVALID_ARGUMENT"}.
std::string TypedErrorBody(const absl::Status& status);

// The whole answer to a request that was refused, with one of these bodies: its code, when to come back, and that a
// credential is wanted. Requires a status that is not OK.
HttpResponse Refusal(const absl::Status& status, std::string (*body_of)(const absl::Status&));

// 405, for a path that takes other methods alone; `allow` lists them: "GET, HEAD". Without a sentence the body says so.
HttpResponse MethodNotAllowed(absl::string_view allow, std::string (*body_of)(const absl::Status&),
                              absl::string_view sentence = "");

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_REFUSAL_H_
