// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_EXCHANGE_H_
#define VITRINE_BASE_HTTP_EXCHANGE_H_

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
#include "base/http/head.h"

namespace vitrine {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

// The other side of a connection. Constant once the first request is handled, and shared by all requests.
struct HttpPeer {
  // "ipv4:127.0.0.1:40000", "ipv6:[::1]:40000" or "unix:", as gRPC writes addresses. Behind a trusted proxy that speaks
  // the PROXY protocol it is the client's.
  std::string address = {};
  // Names of the verified client certificate: subject alternative names, then the subject. Empty without one.
  std::vector<std::string> certificate_names = {};
  // User id of the process at the other end of a unix socket.
  std::optional<uint32_t> uid = {};
  bool is_encrypted = false;
};

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};  // beside type and length
  std::shared_ptr<void> held =
      {};  // released once the body was handed to the kernel, or the client is gone; may be null
};

// A request whose head has been read. A handler may add to `answer_headers` before it returns; later only `hung_up`
// changes.
struct HttpRequest {
  HttpHead head;
  std::shared_ptr<const HttpPeer> peer;
  // Headers of the response, whatever it is.
  HttpHeaders answer_headers = {};
  // Set when the client resets the request or hangs up before it is answered.
  std::shared_ptr<std::atomic<bool>> hung_up = std::make_shared<std::atomic<bool>>(false);

  const std::string& method() const { return head.method; }
  const std::string& path() const { return head.path; }
  const std::string& query() const { return head.query; }
  std::optional<std::string> Header(absl::string_view name) const { return head.Header(name); }
};

// Sends one response. Thread-safe: Send is called at most once, on any thread; if the reply is destroyed without it,
// the client gets 503. Lives no longer than the server.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // Calls `make` on this thread and sends what it returns.
  virtual void Send(absl::FunctionRef<HttpResponse()> make) = 0;
};

// The server's side of a request whose body and response are streams of bytes, as gRPC needs. HTTP/2 only. Thread-safe.
// The stream counts against its connection's limit of concurrent streams until the last reference to it is dropped,
// also where the client has reset it: who holds a reference while it works on the request bounds that work.
class HttpStream {
 public:
  // Part of a response: what is sent next. Parts are sent in the order of the calls.
  struct Part {
    HttpHeaders head = {};            // of the response, ":status" included; in the first part only
    std::string bytes = {};           // of the body
    bool is_last = false;             // ends the response
    HttpHeaders trailers = {};        // with is_last; may be empty
    std::shared_ptr<void> held = {};  // released once `bytes` was handed to the kernel, or the stream is closed
  };

  virtual ~HttpStream() = default;
  // Sends a part. Does nothing once the stream is closed, and leaves the part to its owner. Where the last part goes
  // out before the body is whole, the client is told to stop sending (RST_STREAM with NO_ERROR).
  virtual void Send(Part&& part) = 0;
  // Lets the client send `bytes` more: bytes given to OnData are not replaced in the flow control window before.
  virtual void Consume(size_t bytes) = 0;
  // While `awaited`, the client must send at the server's least rate, or OnTooSlow follows.
  virtual void SetBodyAwaited(bool awaited) = 0;
  // Resets the stream with an error code of HTTP/2; what was given to Send and not sent is dropped.
  virtual void Reset(uint32_t code) = 0;
  // Bytes of parts that were given to Send and not yet handed to the kernel.
  virtual size_t unsent_bytes() const = 0;
};

// The handler's side of such a request. Every function is called on the thread of the stream's connection, which it
// must not block; none is called after OnClosed.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;
  // Bytes of the body have come.
  virtual void OnData(absl::string_view bytes) = 0;
  // The body is whole.
  virtual void OnEnd() = 0;
  // The body comes slower than HttpServerOptions::least_rate. The handler ends the stream.
  virtual void OnTooSlow() = 0;
  // The stream has ended: is_answered says whether the last part was sent; else the client has reset it, is gone, or
  // the server has reset it.
  virtual void OnClosed(bool is_answered) = 0;
};

// HttpNext is what becomes of a request once its head was read: exactly one member is set.
struct HttpNext {
  // Called on a worker thread, with the whole body, decompressed if its Content-Encoding is gzip, or the reason why
  // there is none: INVALID_ARGUMENT with another encoding, without length or chunks, or if it ends early or is no gzip;
  // RESOURCE_EXHAUSTED if it exceeds the size limit or the budget of received bytes; DEADLINE_EXCEEDED if it comes too
  // slowly; UNAVAILABLE if the server ends meanwhile.
  using WithBody = std::function<void(absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply)>;
  // Called on the connection's thread; returns the handler of the stream.
  using Open = std::function<std::shared_ptr<HttpStreamHandler>(std::shared_ptr<HttpStream> stream)>;

  // Answers at once; the body is not read.
  static HttpNext Answer(HttpResponse response) { return {.response = std::move(response)}; }
  // Answers with what `make` returns, called on a worker thread; the body is not read.
  static HttpNext Make(std::function<HttpResponse()> make) { return {.make = std::move(make)}; }
  // Reads the body.
  static HttpNext Read(WithBody with_body) { return {.with_body = std::move(with_body)}; }
  // Streams both ways. Over HTTP/1 such a request is answered 505.
  static HttpNext Stream(Open open) { return {.open = std::move(open)}; }

  std::optional<HttpResponse> response = {};
  std::function<HttpResponse()> make = {};
  WithBody with_body = {};
  Open open = {};
};

// Called with each request on its connection's thread: must not block, nor compute for long.
using HttpHandler = std::function<HttpNext(const std::shared_ptr<HttpRequest>&)>;

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_EXCHANGE_H_
