// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_REQUEST_PARSER_H_
#define VITRINE_BASE_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/http/head.h"

namespace vitrine {

// Reads one request of HTTP/1.x as its bytes come (RFC 9112): first the head alone; the body, by its length or in
// chunks, once it is asked for. Thread-compatible.
class HttpRequestParser {
 public:
  // A head of more bytes is refused.
  explicit HttpRequestParser(size_t max_head_bytes = kMaxHttpHeadBytes);
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // Returns how many of the bytes it has taken: what comes next is put behind those that it left. After an error
  // nothing may follow. INVALID_ARGUMENT if they are no HTTP/1.x, or a header is folded over several lines;
  // RESOURCE_EXHAUSTED if the head is too long, which HTTP answers with 431; TooLargeError if the body is.
  absl::StatusOr<size_t> Take(absl::string_view bytes);

  // The head is there: Take goes no further until ReadBody.
  bool has_head() const;
  // Requires has_head. INVALID_ARGUMENT if it cannot be meant: see ReadTarget, CheckBodyLength and CheckHost.
  absl::StatusOr<HttpHead> Head() const;

  // From here on Take takes the body, of so many bytes at most; a longer one in chunks is found when a chunk says so;
  // one with a length is for the caller to refuse. Requires has_head.
  void ReadBody(int64_t max_bytes);
  // So many bytes of it have come.
  size_t body_bytes() const;
  // Nothing of the request is missing: Take may not be called any more.
  bool is_done() const;
  // Requires is_done.
  std::string TakeBody();

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_REQUEST_PARSER_H_
