// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_COMPRESS_H_
#define VITRINE_BASE_HTTP_COMPRESS_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "base/http/exchange.h"

namespace vitrine {

// A body of fewer bytes is sent as it is: a packet holds it either way.
inline constexpr size_t kLeastCompressedBytes = 1024;

// True if the value of an Accept-Encoding header prefers gzip to a body as it is: RFC 9110, section 12.5.3.
bool TakesGzip(absl::string_view accept_encoding);

// True if bodies of that type become smaller: text, JSON, JavaScript and SVG.
bool IsCompressible(absl::string_view type);

// Compresses the body with gzip where the request takes it, the type is compressible and the body large enough, and
// says so in the headers; "Vary" says what decides also where it stays as it is. A response that has "Vary" already was
// chosen for the request and stays as it is. Takes a few milliseconds for a megabyte: not for a connection's thread.
void CompressFor(const HttpRequest& request, HttpResponse& response);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_COMPRESS_H_
