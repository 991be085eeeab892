// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_RESPONSE_TEXT_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_RESPONSE_TEXT_H_

#include <string>

#include "common/http/exchange.h"

namespace vitrine {

// Returns status line and headers of the response to `request`, which may be null. `keep`: true if the connection stays
// open for another request.
std::string ResponseHead(const HttpResponse& response, const HttpRequest* request, bool keep);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_RESPONSE_TEXT_H_
