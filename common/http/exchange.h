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

// The peer of a connection. Shared by all requests of the connection, and constant once the first request has begun.
struct HttpPeer {
  // Address in gRPC's form: "ipv4:127.0.0.1:40000", "ipv6:[::1]:40000" or "unix:". Behind a trusted proxy that uses the
  // PROXY protocol, this is the client's address.
  std::string address = {};
  // Binary key of the client's network: the IPv4 address, or the first 64 bits of the IPv6 address. All unix sockets
  // have the same key. Work for clients of different networks is done in turn (see Workers).
  std::string network = {};
  // Names in the verified client certificate: subject alternative names, then the subject. Empty without a certificate.
  std::vector<std::string> certificate_names = {};
  // User id of the peer process, for a unix socket.
  std::optional<uint32_t> uid = {};
  bool is_encrypted = false;
};

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};  // headers besides type and length
  // Released when the kernel has accepted the body or the client is gone; may be null. If it is not null and `code` is
  // below 400, the handler must limit the size of all such bodies, because HttpServerOptions::max_unsent_bytes does not
  // prevent this response.
  std::shared_ptr<void> held = {};
};

// A request whose headers were read. A handler may add to `answer_headers` before it returns; afterwards only `hung_up`
// changes.
struct HttpRequest {
  HttpHead head;
  std::shared_ptr<const HttpPeer> peer;
  // Headers that are added to every response. Initially the request's x-request-id, if it has one.
  HttpHeaders answer_headers = {};
  // Set to true if the client resets the request or disconnects before it is answered.
  std::shared_ptr<std::atomic<bool>> hung_up = std::make_shared<std::atomic<bool>>(false);

  const std::string& method() const { return head.method; }
  const std::string& path() const { return head.path; }
  const std::string& query() const { return head.query; }
  std::optional<std::string> Header(absl::string_view name) const { return head.Header(name); }
};

// Sends one response. Send may be called once, on any thread. If Send is not called before the reply is destroyed, the
// client gets 503. The server must outlive the reply.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // Calls `make` on this thread and sends its result.
  virtual void Send(absl::FunctionRef<HttpResponse()> make) = 0;
};

// The server's side of a request with streamed body and response, as in gRPC. HTTP/2 only. Thread-safe. A connection
// may have at most twice max_concurrent_streams objects of this class, including the objects of streams that the client
// has reset. Work on a request must keep a reference to its HttpStream, so that this limit also bounds the work.
class HttpStream {
 public:
  // Part of a response. Parts are sent in the order of the calls of Send.
  struct Part {
    HttpHeaders head = {};            // response headers with ":status"; only in the first part
    std::string bytes = {};           // body bytes
    bool is_last = false;             // true: ends the response
    HttpHeaders trailers = {};        // only in the last part; may be empty
    std::shared_ptr<void> held = {};  // released when the kernel has accepted `bytes` or the stream is closed
  };

  virtual ~HttpStream() = default;
  // Sends a part. If the stream is closed, does nothing and leaves the part to the caller. If the last part is sent
  // before the request is complete, the client is asked to stop sending (RST_STREAM with NO_ERROR).
  virtual void Send(Part&& part) = 0;
  // Enlarges the flow control window by `bytes` that OnData delivered.
  virtual void Consume(size_t bytes) = 0;
  // While `awaited` is true, OnTooSlow is called if the client sends slower than the server's minimum rate.
  virtual void SetBodyAwaited(bool awaited) = 0;
  // Resets the stream with an HTTP/2 error code. Unsent parts are dropped.
  virtual void Reset(uint32_t code) = 0;
  // Returns the number of bytes in parts that were not yet passed to the kernel.
  virtual size_t unsent_bytes() const = 0;
};

// The handler's side of a streamed request. All functions run on the connection's thread and must not block. None is
// called after OnClosed.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;
  // Called with bytes of the body.
  virtual void OnData(absl::string_view bytes) = 0;
  // Called when the body is complete.
  virtual void OnEnd() = 0;
  // Called if the body arrives slower than HttpServerOptions::least_rate. The handler must end the stream.
  virtual void OnTooSlow() = 0;
  // Called when the stream has ended. `is_answered`: true if the last part was sent. Otherwise client or server reset
  // the stream, or the client disconnected.
  virtual void OnClosed(bool is_answered) = 0;
};

// Handling of a request after its headers were read. Exactly one member is set.
struct HttpHandling {
  // Handles the whole body on a worker thread. The body is decompressed if its Content-Encoding is gzip or deflate.
  // `body` may be an error. INVALID_ARGUMENT: another Content-Encoding, an HTTP/1 request that states no length, or a
  // truncated or corrupt body. RESOURCE_EXHAUSTED: the body exceeds the size limit or the budget of received bytes.
  // DEADLINE_EXCEEDED: the body arrives too slowly. UNAVAILABLE: the server shuts down (HTTP/1 only).
  using WithBody = std::function<void(absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply)>;
  // Returns the handler of the stream. Runs on the connection's thread.
  using Open = std::function<std::shared_ptr<HttpStreamHandler>(std::shared_ptr<HttpStream> stream)>;

  // Answers at once, without reading the body.
  static HttpHandling Answer(HttpResponse response) { return {.response = std::move(response)}; }
  // Answers with the result of `make`, which runs on a worker thread. The body is not read.
  static HttpHandling Make(std::function<HttpResponse()> make) { return {.make = std::move(make)}; }
  // Reads the body, then calls `with_body`.
  static HttpHandling Read(WithBody with_body) { return {.with_body = std::move(with_body)}; }
  // Streams body and response. An HTTP/1 request is answered with 505.
  static HttpHandling Stream(Open open) { return {.open = std::move(open)}; }

  std::optional<HttpResponse> response = {};
  std::function<HttpResponse()> make = {};
  WithBody with_body = {};
  Open open = {};
};

// Handles the headers of each request. Runs on the connection's thread: must not block or compute for long.
using HttpHandler = std::function<HttpHandling(const std::shared_ptr<HttpRequest>&)>;

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_EXCHANGE_H_
