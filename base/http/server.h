// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_SERVER_H_
#define VITRINE_BASE_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vitrine {

// One request of HTTP, in reach of a handler for as long as it runs.
class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual const std::string& method() const = 0;  // "GET"
  virtual const std::string& path() const = 0;    // decoded, without query
  virtual const std::string& query() const = 0;   // what follows the "?", as it came; empty without one
  // Where the connection comes from, as gRPC writes it: "ipv4:127.0.0.1:40000".
  virtual std::string peer() const = 0;
  // The header's value, nothing if it is absent, "" if it is there twice.
  virtual std::optional<std::string> Header(const std::string& name) const = 0;
  // The whole body, once; unfolded where its Content-Encoding is gzip. INVALID_ARGUMENT without a Content-Length, with
  // another encoding, or if the body ends early or is no gzip; RESOURCE_EXHAUSTED if it is, or unfolds to, more than
  // the limit or no room for it is left; DEADLINE_EXCEEDED if it comes too slowly; UNAVAILABLE if the server ends
  // meanwhile.
  virtual absl::StatusOr<std::string> ReadBody() = 0;
};

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside type and length
  std::shared_ptr<void> held = {};  // kept until the body was written, or nobody takes it; may be null
};

struct HttpServerOptions {
  // host:port. Port 0 picks a free one.
  std::string listen;
  // What is served there, for the sentence of a refusal: "cannot listen on ... for metrics".
  std::string purpose = "HTTP";
  // Requests answered at once, each by a thread; further ones wait. An eighth of the threads takes no request with a
  // body: one that does not come holds its thread, for half a minute at most.
  int threads = 32;
  // By how much they stand behind the rest of the process where cores are short, 0 to 19: see setpriority(2).
  int niceness = 0;
  // How long a connection may take to send a head or to take an answer. It holds no thread meanwhile.
  absl::Duration request_timeout = absl::Seconds(10);
  // How long a connection may stay open between two requests, without a thread; zero closes it after each.
  absl::Duration keep_alive = absl::Minutes(1);
  // Whether anything but GET and HEAD is answered 405 without asking the handler.
  bool read_only = false;
  // Largest body that is read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Bytes of bodies of all connections together; and as many of answers that their clients do not take.
  int64_t max_all_bodies_bytes = int64_t{128} << 20;
  // Told when memory ran out on the way of a request, which is answered 503. Any thread; may be null.
  std::function<void()> out_of_memory = {};
};

// Plain HTTP/1.1 for one handler. Connections that are silent, idle or slow hold no thread; of 1,024, or a quarter of
// the process's descriptors, the idlest makes room for the next. Thread-safe.
class HttpServer {
 public:
  // Runs on a thread of its own, many at once. May block.
  using Handler = std::function<HttpResponse(HttpRequest&)>;

  // UNAVAILABLE if the address cannot be bound: see ListenOnTcp.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, Handler handler);
  // Waits for the answers under way; bodies that have not come are not waited for.
  ~HttpServer();

  // host:port as bound.
  const std::string& address() const { return address_; }

 private:
  class Workers;
  HttpServer(std::unique_ptr<Workers> workers, std::string address);

  std::unique_ptr<Workers> workers_;
  std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_SERVER_H_
