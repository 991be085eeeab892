// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary bytes as an HTTP/1 request. The headers must be incomplete, rejected, or unambiguous for every
// parser. A body must stay within its size limit, also after decompression with gzip. Then parses the same bytes as a
// header of the PROXY protocol, which must be found within the bytes, and be incomplete only if bytes are missing.
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/gunzip.h"
#include "common/http/network/proxy_header.h"
#include "common/http/protocol/request_parser.h"
#include "tests/fuzz/require.h"

namespace {

using vitrine::Require;

constexpr size_t kMostUnfolded = size_t{1} << 20;
constexpr int64_t kMostBody = int64_t{1} << 16;

bool EndsNoLine(absl::string_view text) {
  return text.find_first_of(absl::string_view("\r\n\0", 3)) == absl::string_view::npos;
}

void CheckHead(const vitrine::HttpHead& head) {
  Require(!head.method.empty() && EndsNoLine(head.method) && head.method.find(' ') == std::string::npos);
  Require(head.path.find('\0') == std::string::npos && EndsNoLine(head.query));
  Require(head.minor_version == 0 || head.minor_version == 1);
  for (const auto& [name, value] : head.headers) {
    Require(!name.empty() && EndsNoLine(name) && EndsNoLine(value) && head.Header(name).has_value());
  }
  // With both headers, two parsers could find different ends of the body.
  Require(!head.Header("Content-Length").has_value() || !head.Header("Transfer-Encoding").has_value());
  Require(head.ContentLength().value_or(0) >= 0);
  if (!head.AnnouncesBody()) Require(head.ContentLength().value_or(0) == 0);
}

// Reads a body with Content-Length or in chunks, and checks the limit on its size.
void ReadBody(vitrine::HttpRequestParser& parser, absl::string_view rest) {
  if (parser.is_done()) return;
  parser.ReadBody(kMostBody);
  while (!parser.is_done() && !rest.empty()) {
    const absl::StatusOr<size_t> taken = parser.Take(rest);
    if (!taken.ok()) return;
    Require(*taken <= rest.size());
    Require(parser.body_bytes() <= static_cast<size_t>(kMostBody) || parser.Head()->ContentLength().has_value());
    if (*taken == 0) return;
    rest.remove_prefix(*taken);
  }
}

void CheckProxyHeader(absl::string_view received) {
  const auto header = vitrine::ReadProxyHeader(received);
  if (absl::IsUnavailable(header.status())) {
    const std::string longer = std::string(received).append(vitrine::kMaxProxyHeaderBytes, '\0');
    return Require(!absl::IsUnavailable(vitrine::ReadProxyHeader(longer).status()));
  }
  if (!header.ok()) return Require(absl::IsInvalidArgument(header.status()));
  Require(header->bytes <= std::min(received.size(), vitrine::kMaxProxyHeaderBytes));
  if (header->bytes == 0) return Require(!header->client.has_value());
  // Bytes after the header must not change the result. Without its last byte, the header must be incomplete.
  const auto alone = vitrine::ReadProxyHeader(received.substr(0, header->bytes));
  Require(alone.ok() && alone->bytes == header->bytes && alone->client.has_value() == header->client.has_value());
  Require(absl::IsUnavailable(vitrine::ReadProxyHeader(received.substr(0, header->bytes - 1)).status()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view received(reinterpret_cast<const char*>(data), size);
  CheckProxyHeader(received);
  vitrine::HttpRequestParser parser;
  const absl::StatusOr<size_t> head_bytes = parser.Take(received);
  if (!head_bytes.ok()) {
    Require(head_bytes.status().code() == absl::StatusCode::kInvalidArgument ||
            head_bytes.status().code() == absl::StatusCode::kResourceExhausted);
    return 0;
  }
  Require(*head_bytes <= size);
  if (!parser.has_head()) return 0;
  const auto head = parser.Head();
  if (!head.ok()) {
    Require(head.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  CheckHead(*head);
  ReadBody(parser, received.substr(*head_bytes));
  const auto body = vitrine::Gunzip(received.substr(*head_bytes), kMostUnfolded);
  if (body.ok()) Require(body->size() <= kMostUnfolded);
  return 0;
}
