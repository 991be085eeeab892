// SPDX-License-Identifier: Apache-2.0
#include "base/http_server.h"

#include <CivetServer.h>
#include <netdb.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// A body that takes longer to arrive is given up: a slow sender holds a thread.
constexpr absl::Duration kMaxBodyTime = absl::Seconds(30);
constexpr size_t kReadBytes = size_t{64} << 10;
// What is sent when there is no memory to make an answer.
constexpr std::string_view kOutOfMemory =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n"
    "Connection: close\r\n\r\nout of memory\n";

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}

// The host of host:port, without the brackets of IPv6.
std::string HostOf(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// Connects to host:port and hangs up.
void Knock(const std::string& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = address.substr(address.rfind(':') + 1);
  if (getaddrinfo(HostOf(address).c_str(), port.c_str(), &hints, &found) != 0) return;
  const int connection = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection >= 0) {
    (void)!connect(connection, found->ai_addr, found->ai_addrlen);
    close(connection);
  }
  freeaddrinfo(found);
}

// A share of the bytes that bodies may take, given back when it dies.
class BodyRoom {
 public:
  explicit BodyRoom(std::atomic<int64_t>& taken) : taken_(taken) {}
  ~BodyRoom() { taken_.fetch_sub(bytes_, std::memory_order_relaxed); }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // False if it does not fit; nothing is taken then.
  bool Take(int64_t bytes, int64_t most) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most) {
      taken_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    bytes_ += bytes;
    return true;
  }

 private:
  std::atomic<int64_t>& taken_;
  int64_t bytes_ = 0;
};

class CivetRequest : public HttpRequest {
 public:
  CivetRequest(mg_connection* connection, const HttpServerOptions& options, std::atomic<int64_t>& taken)
      : connection_(connection), info_(*mg_get_request_info(connection)), options_(options), room_(taken) {
    method_ = info_.request_method == nullptr ? "" : info_.request_method;
    path_ = info_.local_uri == nullptr ? "" : info_.local_uri;
    query_ = info_.query_string == nullptr ? "" : info_.query_string;
  }

  const std::string& method() const override { return method_; }
  const std::string& path() const override { return path_; }
  const std::string& query() const override { return query_; }
  std::string peer() const override {
    const bool is_six = strchr(info_.remote_addr, ':') != nullptr;
    return absl::StrCat(is_six ? "ipv6:[" : "ipv4:", info_.remote_addr, is_six ? "]:" : ":", info_.remote_port);
  }

  std::optional<std::string> Header(const std::string& name) const override {
    std::optional<std::string> value;
    for (int i = 0; i < info_.num_headers; ++i) {
      if (strcasecmp(info_.http_headers[i].name, name.c_str()) != 0) continue;
      if (value.has_value()) return "";
      value = info_.http_headers[i].value;
    }
    return value;
  }

  absl::StatusOr<std::string> ReadBody() override {
    RETURN_IF_ERROR(CheckBody());
    if (Header("Expect").has_value()) mg_printf(connection_, "HTTP/1.1 100 Continue\r\n\r\n");
    const auto length = static_cast<size_t>(info_.content_length);
    const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kMaxBodyTime);
    std::string body(length, '\0');
    for (size_t read = 0; read < length;) {
      const int more = mg_read(connection_, body.data() + read, std::min(kReadBytes, length - read));
      if (more <= 0) return absl::InvalidArgumentError("the body ended before its Content-Length");
      read += more;
      if (std::chrono::steady_clock::now() > end) {
        return absl::DeadlineExceededError("the body took too long to arrive");
      }
    }
    read_all_ = true;
    return body;
  }

  // Nothing of the body is left unread on the connection, which may serve the next request.
  bool read_all() const { return read_all_ || (info_.content_length <= 0 && !Header("Transfer-Encoding").has_value()); }

 private:
  absl::Status CheckBody() {
    if (Header("Content-Encoding").value_or("identity") != "identity") {
      return absl::InvalidArgumentError("the body is compressed; send it as it is");
    }
    if (info_.content_length < 0 || Header("Transfer-Encoding").has_value()) {
      return absl::InvalidArgumentError("the request has no Content-Length");
    }
    if (info_.content_length > options_.max_body_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the body has ", info_.content_length, " bytes; at most ",
                                                       options_.max_body_bytes, " are read"));
    }
    if (room_.Take(info_.content_length, options_.max_all_bodies_bytes)) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many large requests are on their way at once; come back in a moment");
  }

  mg_connection* const connection_;
  const mg_request_info& info_;
  const HttpServerOptions& options_;
  BodyRoom room_;
  std::string method_;
  std::string path_;
  std::string query_;
  bool read_all_ = false;
};

void Send(mg_connection* connection, const HttpResponse& response, bool with_body) {
  std::string bytes =
      absl::StrCat("HTTP/1.1 ", response.code, " ", mg_get_response_code_text(connection, response.code),
                   "\r\nContent-Type: ", response.type, "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers) absl::StrAppend(&bytes, name, ": ", value, "\r\n");
  absl::StrAppend(&bytes, "\r\n");
  if (with_body) bytes += response.body;
  mg_write(connection, bytes.data(), bytes.size());
}

}  // namespace

// Every path comes here, so that nothing of civetweb's own (files, listings) is reachable.
class HttpServer::Connections : public CivetHandler {
 public:
  Connections(HttpServerOptions options, Handler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return Serve(connection, false); }
  bool handlePost(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }
  bool handlePut(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }
  bool handleDelete(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }
  bool handleOptions(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }
  bool handlePatch(CivetServer*, mg_connection* connection) override { return Serve(connection, true); }

  // Last member to be destroyed first: its threads use the others.
  std::unique_ptr<CivetServer> server;

 private:
  bool Serve(mg_connection* connection, bool with_body) {
    try {
      Answer(connection, with_body);
    } catch (const std::bad_alloc&) {
      mg_disable_connection_keep_alive(connection);
      mg_write(connection, kOutOfMemory.data(), kOutOfMemory.size());
    }
    return true;
  }

  void Answer(mg_connection* connection, bool with_body) {
    CivetRequest request(connection, options_, taken_);
    const bool reads = request.method() == "GET" || request.method() == "HEAD";
    HttpResponse response =
        reads || !options_.read_only
            ? Handle(request)
            : HttpResponse{.code = 405, .type = kPlainText, .body = "only GET and HEAD are served here\n"};
    // Where something is left unread civetweb reads on, however slowly it comes.
    if (!request.read_all() || options_.keep_alive == absl::ZeroDuration()) {
      mg_disable_connection_keep_alive(connection);
      response.headers.emplace_back("Connection", "close");
    }
    Send(connection, response, with_body);
  }

  // On a thread of its own: civetweb's have a stack of 100 KiB, which what a handler calls may overflow.
  HttpResponse Handle(HttpRequest& request) {
    try {
      return std::async(std::launch::async,
                        [&] {
                          pthread_setname_np(pthread_self(), "http");
                          return handler_(request);
                        })
          .get();
    } catch (const std::system_error&) {
      return {.code = 503, .type = kPlainText, .body = "no thread is left for this request; try again\n"};
    }
  }

  const HttpServerOptions options_;
  const Handler handler_;
  std::atomic<int64_t> taken_ = 0;  // bytes of bodies, of all connections
};

HttpServer::HttpServer(std::unique_ptr<Connections> connections, std::string address)
    : connections_(std::move(connections)), address_(std::move(address)) {}

// civetweb's accepting thread looks at its stop flag when somebody connects, otherwise every two seconds.
HttpServer::~HttpServer() {
  const std::future<void> stopped = std::async(std::launch::async, [this] { connections_->server.reset(); });
  do {
    Knock(address_);
  } while (stopped.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, Handler handler) {
  if (HostOf(options.listen).find(':') != std::string::npos && mg_check_feature(MG_FEATURES_IPV6) == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", options.listen, " for ", options.purpose, ": the HTTP library of this build has no IPv6; ",
        "name an IPv4 address, for instance 127.0.0.1", options.listen.substr(options.listen.rfind(':'))));
  }
  auto connections = std::make_unique<Connections>(options, std::move(handler));
  const bool keeps = options.keep_alive > absl::ZeroDuration();
  const std::vector<std::string> settings = {"listening_ports",       options.listen,
                                             "num_threads",           absl::StrCat(options.threads),
                                             "request_timeout_ms",    Milliseconds(options.request_timeout),
                                             "enable_keep_alive",     keeps ? "yes" : "no",
                                             "keep_alive_timeout_ms", Milliseconds(options.keep_alive),
                                             "tcp_nodelay",           "1",
                                             "connection_queue",      "64"};
  try {
    connections->server = std::make_unique<CivetServer>(settings);
  } catch (const CivetException&) {  // its text names the library's options, not the cause
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen, " for ", options.purpose,
                                               "; is the port in use, or the host not ours?"));
  }
  connections->server->addHandler("/**", *connections);
  const std::vector<int> ports = connections->server->getListeningPorts();
  std::string bound =
      absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", ports.empty() ? 0 : ports.front());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(connections), std::move(bound)));
}

}  // namespace vitrine
