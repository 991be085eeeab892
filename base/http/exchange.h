// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_EXCHANGE_H_
#define VITRINE_BASE_HTTP_EXCHANGE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/http/head.h"

namespace vitrine {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside type and length
  std::shared_ptr<void> held = {};  // kept until the body was written, or nobody takes it; may be null
};

// A request whose head has come. A handler may add to `answer_headers` before it returns; else nothing changes but
// hung_up.
struct HttpRequest {
  HttpHead head;
  // Where the connection comes from, as gRPC writes it: "ipv4:127.0.0.1:40000".
  std::string peer = {};
  // Of the certificate that the client has shown; empty without TLS or without one.
  std::vector<std::string> certificate_names = {};
  bool is_encrypted = false;
  // Beside those of the response, whatever it is.
  std::vector<std::pair<std::string, std::string>> answer_headers = {};
  // Set when the client hangs up before it is answered.
  std::shared_ptr<std::atomic<bool>> hung_up = std::make_shared<std::atomic<bool>>(false);

  const std::string& method() const { return head.method; }
  const std::string& path() const { return head.path; }
  const std::string& query() const { return head.query; }
  std::optional<std::string> Header(absl::string_view name) const { return head.Header(name); }
};

// The way of one answer to its client. Any thread, once; dropped without an answer, the client reads 503. Lives no
// longer than the server.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // Sends what `make` returns, which is called here; 503 where it finds no memory. Never throws.
  virtual void Send(absl::FunctionRef<HttpResponse()> make) = 0;
};

// What becomes of a request, once its head was read: one of the three.
struct HttpNext {
  // On a thread that may block; `body` is that of the request, whole and unfolded where its Content-Encoding is gzip,
  // or why there is none. INVALID_ARGUMENT with another encoding, without length or chunks, or if it ends early or is
  // no gzip; RESOURCE_EXHAUSTED if it is, or unfolds to, more than the limit or no room for it is left;
  // DEADLINE_EXCEEDED if it comes too slowly; UNAVAILABLE if the server ends meanwhile. May throw std::bad_alloc.
  using WithBody = std::function<void(absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply)>;

  // It is answered at once, and its body not read.
  static HttpNext Answer(HttpResponse response) { return {.response = std::move(response)}; }
  // It is answered by `make`, on a thread that may block. Its body is not read.
  static HttpNext Make(std::function<HttpResponse()> make) { return {.make = std::move(make)}; }
  // Its body is read.
  static HttpNext Read(WithBody with_body) { return {.with_body = std::move(with_body)}; }

  std::optional<HttpResponse> response = {};
  std::function<HttpResponse()> make = {};
  WithBody with_body = {};
};

// Called with each request on the thread that all connections share: must not block, nor compute for long. May throw
// std::bad_alloc.
using HttpHandler = std::function<HttpNext(const std::shared_ptr<HttpRequest>&)>;

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_EXCHANGE_H_
