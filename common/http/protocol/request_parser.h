// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_REQUEST_PARSER_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/byte_budget.h"
#include "common/http/head.h"

namespace vitrine {

// Incremental parser for one HTTP/1.x request (RFC 9112). It parses the headers first, and the body (with
// Content-Length or chunked) after ReadBody. Thread-compatible.
class HttpRequestParser {
 public:
  // Rejects headers of more than `max_head_bytes`. Each header counts 32 bytes more than its line.
  explicit HttpRequestParser(size_t max_head_bytes = kMaxHttpHeadBytes);
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // Returns the number of bytes consumed. Pass the remaining bytes again, followed by new bytes. Do not call Take after
  // an error. INVALID_ARGUMENT: not HTTP/1.x, or a header folded over several lines. RESOURCE_EXHAUSTED: headers too
  // long (HTTP answers 431). TooLargeError: body too long.
  // NoRoomError: the budget of the body's share is too small.
  absl::StatusOr<size_t> Take(absl::string_view bytes);

  // Returns true if the headers are complete; Take then consumes nothing until ReadBody is called.
  bool has_head() const;
  // Returns the headers. Requires has_head. INVALID_ARGUMENT for invalid headers: see ReadTarget, CheckBodyLength and
  // CheckHost.
  absl::StatusOr<HttpHead> Head() const;

  // Returns the headers that were parsed so far. May be called after an error.
  HttpHeaders Fields() const;
  // Returns the size of these headers, as compared with `max_head_bytes`.
  size_t head_bytes() const;

  // Makes Take consume the body, whose bytes count in `share`. A chunked body fails when it exceeds `max_bytes`; the
  // caller must compare a Content-Length with the limit. Requires has_head.
  void ReadBody(int64_t max_bytes, BudgetShare share = {});
  // Returns the number of body bytes received.
  size_t body_bytes() const;
  // Returns true if the request is complete; Take must not be called again.
  bool is_done() const;
  // Returns the body. Requires is_done.
  std::string TakeBody();
  // Returns the share that counts the body.
  BudgetShare TakeShare();

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_REQUEST_PARSER_H_
