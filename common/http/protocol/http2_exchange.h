// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_EXCHANGE_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_EXCHANGE_H_

#include <memory>

#include "common/http/connection.h"
#include "common/http/exchange.h"

namespace vitrine {

// Converts a whole response to a single part of a stream.
HttpStream::Part ResponsePart(HttpResponse response, const HttpRequest& request);

// Starts handling a plain request (not HttpHandling::Stream) on an HTTP/2 stream. Returns the handler of its body; null
// if the body is not read. Call on the connection's thread.
std::shared_ptr<HttpStreamHandler> BeginExchange(HttpHandling next, const std::shared_ptr<HttpRequest>& request,
                                                 const std::shared_ptr<HttpStream>& stream, HttpCommon& common);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_EXCHANGE_H_
