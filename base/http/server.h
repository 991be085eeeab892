// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_SERVER_H_
#define VITRINE_BASE_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/exchange.h"
#include "base/http/tls.h"

namespace vitrine {

struct HttpServerOptions {
  // host:port. Port 0 picks a free one.
  std::string listen;
  // What is served there, for the sentence of a refusal: "cannot listen on ... for metrics".
  std::string purpose = "HTTP";
  // Threads that read bodies' contents and make answers. Requests that wait for others hold none. One of them, of two
  // at least, is kept for requests without a body.
  int threads = 4;
  // By how much they stand behind the rest of the process where cores are short, 0 to 19: see setpriority(2).
  int niceness = 0;
  // How long a connection may take to send a whole head (with TLS, its greeting too) or to take an answer.
  absl::Duration request_timeout = absl::Seconds(10);
  // How long it may take to send a whole body.
  absl::Duration body_timeout = absl::Seconds(30);
  // How long a connection may stay open between two requests; zero closes it after each.
  absl::Duration keep_alive = absl::Minutes(1);
  // Whether anything but GET and HEAD is answered 405 without asking the handler.
  bool read_only = false;
  // Largest body that is read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Bytes of bodies of all connections together; and as many of answers that their clients do not take.
  int64_t max_all_bodies_bytes = int64_t{128} << 20;
  // What new connections are encrypted with; null: plaintext. Called at each, so that a new certificate is taken; what
  // it returns is the same object until it changes.
  std::function<std::shared_ptr<const TlsPem>()> tls = {};
  // Runs a thread of the server: calls what it is given, which returns when the thread ends. May be null.
  std::function<void(const std::function<void()>&)> on_thread = {};
  // Told when memory ran out on the way of a request, which is answered 503. Any thread; may be null.
  std::function<void()> out_of_memory = {};
};

// HTTP/1.1 for one handler, by events: one thread for all connections, of 1,024, or a quarter of the process's
// descriptors, of which the idlest makes room for the next; a few for what may block. However slowly clients speak or
// listen, and however many answers are awaited, none of them holds a thread. Thread-safe.
class HttpServer {
 public:
  // UNAVAILABLE if the address cannot be bound: see ListenOnTcp. INVALID_ARGUMENT if TLS cannot be with those files.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  // Waits for the answers under way; bodies that have not come are not waited for.
  ~HttpServer();

  // host:port as bound.
  const std::string& address() const { return address_; }

 private:
  struct Parts;
  HttpServer(std::unique_ptr<Parts> parts, std::string address);

  const std::unique_ptr<Parts> parts_;
  const std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_SERVER_H_
