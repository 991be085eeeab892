#ifndef VITRINE_SERVER_OIP_HTTP_SERVER_H_
#define VITRINE_SERVER_OIP_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// One request of HTTP, in reach of a handler for as long as it runs.
class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual const std::string& method() const = 0;  // "GET"
  virtual const std::string& path() const = 0;    // decoded, without query
  // The header's value, nothing if it is absent, "" if it is there twice.
  virtual std::optional<std::string> Header(const std::string& name) const = 0;
  // The whole body. INVALID_ARGUMENT without a Content-Length, if the body is compressed or ends early;
  // RESOURCE_EXHAUSTED if it is larger than the limit or no room for it is left; DEADLINE_EXCEEDED if it comes too
  // slowly.
  virtual absl::StatusOr<std::string> ReadBody() = 0;
};

struct HttpResponse {
  int code = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside type and length
  std::function<void()> sent = {};  // called when the body was written, or nobody takes it; may be null
};

struct HttpServerOptions {
  // host:port. Port 0 picks a free one.
  std::string listen;
  // Connections served at once, each by a thread; further ones wait.
  int threads = 32;
  // Largest body that is read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Bytes of bodies of all connections together.
  int64_t max_all_bodies_bytes = int64_t{128} << 20;
};

// Plain HTTP/1.1 for one handler. Thread-safe.
class HttpServer {
 public:
  // Runs on the thread of the connection, many at once. May block.
  using Handler = std::function<HttpResponse(HttpRequest&)>;

  // UNAVAILABLE if the address cannot be bound, or is IPv6 where the HTTP library has none.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, Handler handler);
  // Waits for the answers under way.
  ~HttpServer();

  // host:port as bound.
  const std::string& address() const { return address_; }

 private:
  class Connections;
  HttpServer(std::unique_ptr<Connections> connections, std::string address);

  std::unique_ptr<Connections> connections_;
  std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OIP_HTTP_SERVER_H_
