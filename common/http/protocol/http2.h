// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_H_

#include <memory>
#include <string>

#include "common/http/connection.h"

namespace vitrine {

// Serves HTTP/2 (RFC 9113) on `connection`, which must outlive the result. `first`: bytes already read from the
// connection.
std::unique_ptr<HttpProtocol> MakeHttp2(HttpConnection& connection, std::string first);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_H_
