// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_COMPRESS_H_
#define VITRINE_COMMON_HTTP_COMPRESS_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "common/http/exchange.h"

namespace vitrine {

// Minimum size of a body to compress; a smaller body fits into one packet anyway.
inline constexpr size_t kLeastCompressedBytes = 1024;

// Returns true if an Accept-Encoding value prefers gzip to identity (RFC 9110, section 12.5.3).
bool TakesGzip(absl::string_view accept_encoding);

// Returns true if bodies of this type usually compress well: text, JSON, JavaScript and SVG.
bool IsCompressible(absl::string_view type);

// Compresses the body with gzip and sets the headers, if the request accepts gzip, the type is compressible and the
// body is large enough. Adds "Vary" even if the request does not accept gzip. Leaves a response that has "Vary"
// unchanged, because its encoding was already chosen. Takes a few milliseconds per megabyte: do not call on a
// connection thread.
void CompressFor(const HttpRequest& request, HttpResponse& response);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_COMPRESS_H_
