// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_SERVER_H_
#define VITRINE_COMMON_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/byte_budget.h"
#include "common/http/close_reason.h"
#include "common/http/exchange.h"
#include "common/http/network/tls.h"

namespace vitrine {

// Limits on the load that a connection, and all connections of an address, may cause in addition to answered requests.
// An address is an IPv4 address or an IPv6 /64 network. Load is counted in points of about two microseconds: a PING,
// SETTINGS, PRIORITY, CONTINUATION, empty DATA or HEADERS frame costs 1, a WINDOW_UPDATE 1/8; a request that ends
// unanswered, after a reset by the client or a protocol error, costs 1 and 1 more for each 16 headers and each kilobyte
// of them; one beyond the limit of concurrent streams costs 4.
struct HttpAbuseLimits {
  // Burst of points and points per second of a connection. A proxy that forwards expired deadlines of a thousand busy
  // users stays below.
  double connection_burst = 20'000;
  double connection_rate = 10'000;
  // The same for all connections of an address. Without points, each of its new connections starts with a hundredth of
  // the burst.
  double address_burst = 80'000;
  double address_rate = 20'000;
  // New connections of an address: burst, and per second. Further ones are closed when accepted.
  double connect_burst = 4'000;
  double connect_rate = 1'000;
  // TLS handshakes of an address: burst, and per second.
  double handshake_burst = 1'000;
  double handshake_rate = 200;
  // Open connections of an address; 0: no limit.
  int64_t connections = 0;
};

// Receives events of connections, for metrics. Called on any thread; must not block.
class HttpObserver {
 public:
  virtual ~HttpObserver() = default;
  virtual void OnAccepted() {}
  // Closed before a byte was read; CloseReason is the limit reached.
  virtual void OnRefused(CloseReason) {}
  virtual void OnClosed(CloseReason) {}
  // In addition to OnClosed or OnRefused, for the log: the server closed the connection because of the client
  // (IsCutOff).
  virtual void OnCutOff(CloseReason, const std::string& /*peer*/) {}
};

// Limit on connections of a listener for probes, metrics or administration: so few that they always fit in the
// descriptors that client connections leave free.
inline constexpr int64_t kOperatorConnections = 256;

struct HttpServerOptions {
  // host:port. Port 0 picks a free port. May be empty if `socket` is set.
  std::string listen;
  // "unix:///PATH" of an additional socket with the same service, without TLS; mode 0600. The socket of a dead process
  // is replaced. Empty: no socket.
  std::string socket = {};
  // Used in the error message if an address cannot be bound: "cannot listen on ... for metrics".
  std::string purpose = "HTTP";
  // Number of threads that read and write connections; each connection belongs to one.
  int loops = 1;
  // Number of threads that process bodies and make responses of plain requests; at least 2. One is reserved for
  // requests without a body.
  int threads = 4;
  // Niceness of these threads, 0 to 19: see setpriority(2).
  int niceness = 0;
  // Time limit for complete headers, including the TLS handshake and the HTTP/2 preface.
  absl::Duration request_timeout = absl::Seconds(10);
  // Time limit for a body, unless it arrives at `least_rate` or faster on average.
  absl::Duration body_timeout = absl::Seconds(30);
  // Minimum rate in bytes per second at which a client must read a response (after request_timeout) or send a body
  // (after body_timeout); slower clients are disconnected.
  int64_t least_rate = 32 << 10;
  // Time after which a connection without requests is closed; zero closes HTTP/1 connections after each response.
  absl::Duration idle_timeout = absl::Seconds(75);
  // Age (plus or minus 10 %) at which a connection's client is asked to leave (GOAWAY, "Connection: close"); its
  // requests may continue for `age_grace`.
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration age_grace = absl::Minutes(5);
  // Interval at which a silent HTTP/2 connection is pinged, and time limit for the answer.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // Shortest interval between a client's pings (less a tenth) while it reads no answer; a connection that pings more
  // often is closed.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // Answers methods other than GET and HEAD with 405, without calling the handler.
  bool read_only = false;
  // Largest body for HttpHandling::Read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Limit on a request's headers: names and values plus 32 bytes for each. Above it, HTTP answers 431 and gRPC
  // RESOURCE_EXHAUSTED.
  int64_t max_head_bytes = 16 << 10;
  // Limit on concurrent requests of one HTTP/2 connection.
  int max_concurrent_streams = 256;
  // Limit on open connections; 0: number of file descriptors of the process, less a reserve.
  int64_t max_connections = 0;
  // Budget of received bodies that are still held; may be shared by listeners. Null: its own budget of 128 MiB.
  std::shared_ptr<ByteBudget> received = {};
  // Limit on unread bytes of responses, over all connections of this server. Above it, the connection that has not read
  // for longest is closed. A single connection's responses are always sent whole.
  int64_t max_unsent_bytes = int64_t{128} << 20;
  HttpAbuseLimits abuse = {};
  // Networks ("10.0.0.0/8", "::1/128") of proxies. Their connections are exempt from limits per address and may begin
  // with a header of the PROXY protocol, version 2, with the client's address.
  std::vector<std::string> trusted_proxies = {};
  // Returns certificate and key for a new connection; null: plaintext. Called for each connection, so that a rotated
  // certificate is used; returns the same object until it changes.
  std::function<std::shared_ptr<const TlsPem>()> tls = {};
  // Wraps each thread of the server: must call its argument, which returns when the thread ends. May be null.
  std::function<void(const std::function<void()>&)> on_thread = {};
  // May be null; must outlive the server.
  HttpObserver* observer = nullptr;
};

// State of an open connection, for a table.
struct HttpConnectionStatus {
  std::string peer;
  std::string protocol;  // "http/1.1" or "h2"; with "+tls"
  absl::Duration age;
  int64_t requests = 0;  // since it was opened
  int64_t streams = 0;   // requests in progress
  int64_t unsent_bytes = 0;
};

// Serves HTTP/1.1 and HTTP/2 on one address with one handler: TLS selects by ALPN, cleartext by the HTTP/2 preface.
// Upgrade is not supported. `loops` threads read and write connections, each in turn; TLS handshakes, decompression and
// blocking work run on other threads. Thread-safe.
class HttpServer {
 public:
  // UNAVAILABLE if the address cannot be bound: see ListenOnTcp, ListenOnUnix. INVALID_ARGUMENT if the certificates
  // cannot be used, or a trusted proxy is not a network.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  // Calls Shutdown with a grace of one second.
  ~HttpServer();

  // Returns the bound host:port; empty if it listens only on a socket.
  const std::string& address() const;
  // Returns "unix:///PATH"; empty if there is none.
  const std::string& socket_address() const;
  // Returns the number of open connections.
  int64_t connections() const;
  // Describes open connections, at most `most`.
  std::vector<HttpConnectionStatus> Describe(size_t most) const;

  // Asks clients to leave: every further HTTP/1 response has "Connection: close", and HTTP/2 clients get GOAWAY (first
  // with the highest stream id, then with the last accepted one). New connections are still accepted. Idempotent.
  void StartLeaving();
  // Stops listening, waits at most `grace` for responses in progress, and closes every connection. Does not wait for
  // incomplete bodies. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_SERVER_H_
