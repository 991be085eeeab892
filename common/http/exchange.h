// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_EXCHANGE_H_
#define VITRINE_COMMON_HTTP_EXCHANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/head.h"

namespace vitrine {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

// The peer of a connection. Constant once the first request is handled, and shared by all requests.
struct HttpPeer {
  // "ipv4:127.0.0.1:40000", "ipv6:[::1]:40000" or "unix:", as in gRPC. Behind a trusted proxy with the PROXY protocol,
  // the client's address.
  std::string address = {};
  // Names in the verified client certificate: subject alternative names, then the subject. Empty without one.
  std::vector<std::string> certificate_names = {};
  // User id of the peer process of a unix socket.
  std::optional<uint32_t> uid = {};
  bool is_encrypted = false;
};

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};         // in addition to type and length
  std::shared_ptr<void> held = {};  // released once the kernel has the body or the client is gone; may be null
};

// A request whose headers were read. A handler may add to `answer_headers` before it returns; later only `hung_up`
// changes.
struct HttpRequest {
  HttpHead head;
  std::shared_ptr<const HttpPeer> peer;
  // Headers added to any response.
  HttpHeaders answer_headers = {};
  // Set if the client resets the request or disconnects before it is answered.
  std::shared_ptr<std::atomic<bool>> hung_up = std::make_shared<std::atomic<bool>>(false);

  const std::string& method() const { return head.method; }
  const std::string& path() const { return head.path; }
  const std::string& query() const { return head.query; }
  std::optional<std::string> Header(absl::string_view name) const { return head.Header(name); }
};

// Sends one response. Send may be called once, on any thread; if the reply is destroyed without it, the client gets
// 503. The server must outlive it.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // Calls `make` on this thread and sends the result.
  virtual void Send(absl::FunctionRef<HttpResponse()> make) = 0;
};

// The server's side of a request with streamed body and response, as for gRPC. HTTP/2 only. Thread-safe. The stream
// counts against its connection's limit of concurrent streams until its last reference is dropped, even after a reset
// by the client: holding a reference while working on the request bounds that work.
class HttpStream {
 public:
  // Part of a response. Parts are sent in the order of the calls.
  struct Part {
    HttpHeaders head = {};            // response headers with ":status"; first part only
    std::string bytes = {};           // body bytes
    bool is_last = false;             // ends the response
    HttpHeaders trailers = {};        // only with is_last; may be empty
    std::shared_ptr<void> held = {};  // released once the kernel has `bytes`, or the stream is closed
  };

  virtual ~HttpStream() = default;
  // Sends a part. After the stream is closed, does nothing and leaves the part to the caller. If the last part is sent
  // before the body is complete, the client is told to stop sending (RST_STREAM with NO_ERROR).
  virtual void Send(Part&& part) = 0;
  // Replenishes the flow control window by `bytes`, which OnData delivered.
  virtual void Consume(size_t bytes) = 0;
  // While `awaited`, the client must send at the server's minimum rate; otherwise OnTooSlow is called.
  virtual void SetBodyAwaited(bool awaited) = 0;
  // Resets the stream with an HTTP/2 error code; unsent parts are dropped.
  virtual void Reset(uint32_t code) = 0;
  // Returns the bytes of parts not yet passed to the kernel.
  virtual size_t unsent_bytes() const = 0;
};

// The handler's side of a streamed request. All functions run on the connection's thread and must not block it; none is
// called after OnClosed.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;
  // Receives bytes of the body.
  virtual void OnData(absl::string_view bytes) = 0;
  // The body is complete.
  virtual void OnEnd() = 0;
  // The body arrives slower than HttpServerOptions::least_rate. The handler must end the stream.
  virtual void OnTooSlow() = 0;
  // The stream has ended. `is_answered`: the last part was sent; otherwise the client or the server has reset the
  // stream, or the client is gone.
  virtual void OnClosed(bool is_answered) = 0;
};

// The handling of a request after its headers were read: exactly one member is set.
struct HttpHandling {
  // Handles the whole body on a worker thread, decompressed if its Content-Encoding is gzip; or the error:
  // INVALID_ARGUMENT for another encoding, a missing length, or a truncated or corrupt body; RESOURCE_EXHAUSTED above
  // the size limit or the budget of received bytes; DEADLINE_EXCEEDED if it arrives too slowly; UNAVAILABLE if the
  // server shuts down.
  using WithBody = std::function<void(absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply)>;
  // Returns the handler of the stream. Runs on the connection's thread.
  using Open = std::function<std::shared_ptr<HttpStreamHandler>(std::shared_ptr<HttpStream> stream)>;

  // Answers at once; the body is not read.
  static HttpHandling Answer(HttpResponse response) { return {.response = std::move(response)}; }
  // Answers with the result of `make`, which runs on a worker thread; the body is not read.
  static HttpHandling Make(std::function<HttpResponse()> make) { return {.make = std::move(make)}; }
  // Reads the body, then calls `with_body`.
  static HttpHandling Read(WithBody with_body) { return {.with_body = std::move(with_body)}; }
  // Streams both ways. An HTTP/1 request is answered with 505.
  static HttpHandling Stream(Open open) { return {.open = std::move(open)}; }

  std::optional<HttpResponse> response = {};
  std::function<HttpResponse()> make = {};
  WithBody with_body = {};
  Open open = {};
};

// Handles the headers of each request, on its connection's thread: must not block or compute for long.
using HttpHandler = std::function<HttpHandling(const std::shared_ptr<HttpRequest>&)>;

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_EXCHANGE_H_
