// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_H_

#include <memory>
#include <string>

#include "common/http/connection.h"

namespace vitrine {

// Serves HTTP/1.1 and 1.0 on `connection`, one request at a time. `connection` must outlive the result. `first`: bytes
// already read from the connection.
std::unique_ptr<HttpProtocol> MakeHttp1(HttpConnection& connection, std::string first);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_H_
