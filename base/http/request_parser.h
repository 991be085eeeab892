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

// Reads one request as its bytes come: Beast's parser, which only this file's source knows. First the head alone; the
// body, by its length or in chunks, once it is asked for.
class HttpRequestParser {
 public:
  HttpRequestParser();
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // How many of the bytes it has taken: what comes next is put behind those that it left. INVALID_ARGUMENT if they are
  // no HTTP/1.x, and then nothing may follow; RESOURCE_EXHAUSTED if the head or the body is longer than may be.
  absl::StatusOr<size_t> Take(absl::string_view bytes);

  // The head is there: Take goes no further until ReadBody.
  bool has_head() const;
  // Requires has_head. INVALID_ARGUMENT if it cannot be meant, as with two lengths of a body.
  absl::StatusOr<HttpHead> Head() const;

  // From here on Take takes the body, of so many bytes at most, which it does not tell before a chunk says more.
  // Requires has_head.
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
