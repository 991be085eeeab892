// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_SERVER_H_
#define VITRINE_BASE_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/byte_budget.h"
#include "base/http/close_reason.h"
#include "base/http/exchange.h"
#include "base/http/tls.h"

namespace vitrine {

// Bounds of what one connection, and all connections of one address together, may ask of the server beside requests
// that it answers. An address is an IPv4 address or an IPv6 /64 network. A point stands for about two microseconds: a
// PING, SETTINGS, PRIORITY, CONTINUATION, empty DATA or HEADERS frame costs 1, a WINDOW_UPDATE 1/8; a request that ends
// without an answer, reset by the client or for its breach of the protocol, costs 1, and 1 more for each 16 headers and
// each kilobyte of them; one beyond the limit of concurrent streams costs 4.
struct HttpAbuseLimits {
  // Points that a connection may spend at once, and how many it gains a second. A proxy that passes on the expired
  // deadlines of a thousand busy users stays below.
  double connection_burst = 20'000;
  double connection_rate = 10'000;
  // The same for all connections of one address. Beyond it each new connection starts with a hundredth of the burst.
  double address_burst = 80'000;
  double address_rate = 20'000;
  // New connections of one address: at once, and a second. Beyond it they are closed when they are accepted.
  double connect_burst = 4'000;
  double connect_rate = 1'000;
  // TLS handshakes of one address: at once, and a second.
  double handshake_burst = 1'000;
  double handshake_rate = 200;
  // Open connections of one address; 0: no limit.
  int64_t connections = 0;
};

// HttpObserver is told what happens on the connections, for metrics. Called on any thread; must not block.
class HttpObserver {
 public:
  virtual ~HttpObserver() = default;
  virtual void OnAccepted() {}
  // Closed before a byte was read: CloseReason says which bound was met.
  virtual void OnRefused(CloseReason) {}
  virtual void OnClosed(CloseReason) {}
  // As OnClosed or OnRefused, for the log: the server cut the connection off (IsCutOff).
  virtual void OnCutOff(CloseReason, const std::string& /*peer*/) {}
};

// Connections of a listener for probes, metrics or administration: few enough that callers, who leave a reserve of
// descriptors, can never take its place.
inline constexpr int64_t kOperatorConnections = 256;

struct HttpServerOptions {
  // host:port. Port 0 picks a free one. May be empty where `socket` is not.
  std::string listen;
  // "unix:///PATH" of a socket on which the same is served without TLS: mode 0600. A socket that a dead process left
  // is replaced. Empty: there is none.
  std::string socket = {};
  // Named in the error message when an address cannot be bound: "cannot listen on ... for metrics".
  std::string purpose = "HTTP";
  // Threads that read and write connections; each connection belongs to one of them.
  int loops = 1;
  // Threads that handle bodies and make responses of plain requests. One of them, of two at least, is kept for requests
  // without a body.
  int threads = 4;
  // Niceness of those threads, 0 to 19: see setpriority(2).
  int niceness = 0;
  // How long a connection may take for a whole head. With TLS its handshake, and with HTTP/2 its preface, count.
  absl::Duration request_timeout = absl::Seconds(10);
  // How long a body may take; bodies that come faster than `least_rate` on average may take longer.
  absl::Duration body_timeout = absl::Seconds(30);
  // Bytes a second that a client must take of a response (after a grace of request_timeout), or send of a body (after
  // body_timeout); slower ones are cut off.
  int64_t least_rate = 32 << 10;
  // How long a connection without requests stays open; zero closes HTTP/1 connections after each response.
  absl::Duration idle_timeout = absl::Seconds(75);
  // A connection older than this, give or take 10 %, is asked to leave (GOAWAY, "Connection: close"); its requests may
  // go on for `age_grace`.
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration age_grace = absl::Minutes(5);
  // How often a silent HTTP/2 connection is pinged, and how long the answer may take.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // A client that pings more often than this, less a tenth, without reading an answer meanwhile is sent away.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // Tells whether anything but GET and HEAD is answered 405 without asking the handler.
  bool read_only = false;
  // Largest body that is read for HttpNext::Read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Bytes of a request's head: names, values and 32 for each header. Beyond it HTTP answers 431 and gRPC
  // RESOURCE_EXHAUSTED.
  int64_t max_head_bytes = 16 << 10;
  // Requests at once on one HTTP/2 connection.
  int max_concurrent_streams = 256;
  // Open connections; 0: as many as the process's file descriptors allow, less a reserve.
  int64_t max_connections = 0;
  // Bodies that were received and are still held; shared by listeners. Null: a budget of 128 MiB of its own.
  std::shared_ptr<ByteBudget> received = {};
  // Bytes of responses that clients have not taken, over all connections of this server; the response that was waited
  // for longest is given up beyond it. One response alone is always sent whole.
  int64_t max_unsent_bytes = int64_t{128} << 20;
  HttpAbuseLimits abuse = {};
  // Networks ("10.0.0.0/8", "::1/128") of proxies. Their connections count against no bound of an address, and may
  // begin with a header of the PROXY protocol, version 2, which says whose connection it is.
  std::vector<std::string> trusted_proxies = {};
  // Certificate and key for new connections; null: plaintext. Called at each, so that a rotated certificate is used; it
  // returns the same object until it changes.
  std::function<std::shared_ptr<const TlsPem>()> tls = {};
  // Runs a thread of the server: calls its argument, which returns when the thread ends. May be null.
  std::function<void(const std::function<void()>&)> on_thread = {};
  // May be null; outlives the server.
  HttpObserver* observer = nullptr;
};

// A connection, for a table of those that are open.
struct HttpConnectionStatus {
  std::string peer;
  std::string protocol;  // "http/1.1", "h2"; with "+tls"
  absl::Duration age;
  int64_t requests = 0;  // since it was opened
  int64_t streams = 0;   // requests under way
  int64_t unsent_bytes = 0;
};

// HTTP/1.1 and HTTP/2 for one handler on one address: TLS chooses by ALPN, cleartext by HTTP/2's preface. There is no
// Upgrade. Connections are read and written by `loops` threads, each of which gives all its connections their turn;
// TLS handshakes, decompression and what may block run on others. Thread-safe.
class HttpServer {
 public:
  // UNAVAILABLE if the address cannot be bound: see ListenOnTcp, ListenOnUnix. INVALID_ARGUMENT if TLS cannot be set up
  // with those files, or a trusted proxy is no network.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  // Shutdown with a second of grace.
  ~HttpServer();

  // host:port as bound; empty where it listens on a socket alone.
  const std::string& address() const;
  // "unix:///PATH"; empty where there is none.
  const std::string& socket_address() const;
  // Open connections.
  int64_t connections() const;
  // Describes what is open, at most `most` of them.
  std::vector<HttpConnectionStatus> Describe(size_t most) const;

  // From here on every response of HTTP/1 says "Connection: close", and HTTP/2 clients are asked to leave (GOAWAY,
  // first with the highest stream id, then with the last one that was taken). Connections are accepted still.
  // Idempotent.
  void StartLeaving();
  // Stops listening, waits at most `grace` for the responses under way, and closes every connection. Bodies that have
  // not come are not waited for. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_SERVER_H_
