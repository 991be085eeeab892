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

// Limits on the load that one connection, and all connections of one address, may cause in addition to answered
// requests. An address is an IPv4 address or an IPv6 /64 network. Load is counted in points. A point is about two
// microseconds of work:
// - A PING, SETTINGS, PRIORITY, CONTINUATION or empty DATA frame costs 1, a frame of an unknown type 1, a WINDOW_UPDATE
//   1/8, DATA below 64 B 1/32. Larger DATA costs nothing, because a client may send a whole window of it before it
//   knows that its request is refused. On an open stream, DATA that is only padding costs 1 more, unless it ends the
//   stream. Otherwise a frame costs the same on an open and on a closed stream.
// - A request that ends unanswered (a reset by the client, a protocol error) costs 1, and 1 more for each 16 headers
//   and for each kilobyte of headers.
// - A request beyond the limit of concurrent streams or after the last GOAWAY costs 4, and 1 more for each kilobyte of
//   headers.
struct HttpAbuseLimits {
  // Token bucket of a connection: its size in points, and the points per second that are added. A proxy stays below
  // these limits even if it resets the expired requests of a thousand busy users.
  double connection_burst = 20'000;
  double connection_rate = 10'000;
  // Burst, and points per second, of all connections of an address together. If the address has no points left, each of
  // its new connections starts with a hundredth of connection_burst.
  double address_burst = 80'000;
  double address_rate = 20'000;
  // New connections of an address: burst, and number per second. Connections above the rate are closed when accepted.
  double connect_burst = 4'000;
  double connect_rate = 1'000;
  // TLS handshakes of an address: burst, and number per second.
  double handshake_burst = 1'000;
  double handshake_rate = 200;
  // Maximum number of open connections of an address; 0: no limit.
  int64_t connections = 0;
};

// Receives events of connections, for metrics. The functions are called on any thread and must not block.
class HttpObserver {
 public:
  virtual ~HttpObserver() = default;
  virtual void OnAccepted() {}
  // Called if a connection is closed before a byte was read; the argument is the limit that was reached.
  virtual void OnRefused(CloseReason) {}
  virtual void OnClosed(CloseReason) {}
  // Called in addition to OnClosed or OnRefused, for the log, if IsCutOff(reason). `detail`: why a TLS handshake
  // failed; empty for other reasons.
  virtual void OnCutOff(CloseReason, const std::string& /*peer*/, const std::string& /*detail*/) {}
  // Called if the server ends a request of a slow client and keeps the connection open (HTTP/2).
  virtual void OnStreamCutOff(StreamCutOff, const std::string& /*peer*/) {}
};

// Maximum number of connections of a listener for probes, metrics or administration. Client connections always leave
// enough file descriptors free for these operator connections.
inline constexpr int64_t kOperatorConnections = 256;

struct HttpServerOptions {
  // Address host:port; port 0 picks a free port. May be empty if `socket` is set.
  std::string listen;
  // "unix:///PATH" of an additional socket with the same service, without TLS and with mode 0600. The socket of a dead
  // process is replaced. Empty: no socket.
  std::string socket = {};
  // Text for the error message if an address cannot be bound: "cannot listen on ... for --metrics".
  std::string purpose = "HTTP";
  std::string socket_purpose = {};  // text for the error message about `socket`; empty: `purpose` is used
  // Number of threads that read and write connections; each connection belongs to one thread.
  int loops = 1;
  // Number of threads (at least 2) that process bodies and make responses, except for streamed requests. One of them is
  // reserved for requests without a body.
  int threads = 4;
  // Niceness of the threads counted by `threads`, 0 to 19; see setpriority(2).
  int niceness = 0;
  // Time limit for complete headers, including the TLS handshake and the HTTP/2 preface.
  absl::Duration request_timeout = absl::Seconds(10);
  // Time limit for a body in either direction. A body may take longer if its average rate is at least `least_rate`.
  absl::Duration body_timeout = absl::Seconds(30);
  // Minimum rate, in bytes per second, at which a client must read a response or send a body after body_timeout. Slower
  // clients are disconnected.
  int64_t least_rate = 32 << 10;
  // Time without requests after which a connection is closed. Zero closes HTTP/1 connections after each response.
  absl::Duration idle_timeout = absl::Seconds(75);
  // Age (plus or minus 10 %) at which the client is asked to close its connection (GOAWAY, "Connection: close"). The
  // client's requests may continue for `age_grace`, or for two seconds if its certificate has expired or is no longer
  // trusted.
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration age_grace = absl::Minutes(5);
  // Interval at which a silent HTTP/2 connection is pinged, and time limit for the answer to the PING.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // Minimum interval between a client's PINGs while it gets no response, with 10 % tolerance. The third PING that comes
  // too early closes the connection.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // true: methods other than GET and HEAD are answered with 405, without calling the handler.
  bool read_only = false;
  // Maximum size of a body for HttpHandling::Read.
  int64_t max_body_bytes = int64_t{16} << 20;
  // Maximum size of a request's headers. Each header counts 32 bytes more than its text. Larger headers are answered
  // with 431, or RESOURCE_EXHAUSTED in gRPC.
  int64_t max_head_bytes = 16 << 10;
  // Maximum number of concurrent requests of one HTTP/2 connection.
  int max_concurrent_streams = 256;
  // Maximum number of open connections; 0: the process's limit of file descriptors, minus a reserve.
  int64_t max_connections = 0;
  // Budget of received bodies in memory, of headers of open requests, and of bytes that HTTP/1 has not parsed yet;
  // listeners may share it. Headers of HTTP/1 up to 4 KiB do not count once the whole request has arrived. Null: a
  // budget of 128 MiB for this server.
  std::shared_ptr<ByteBudget> received = {};
  // Maximum number of bytes of responses that clients have not read, over all connections of this server. While it is
  // exceeded, new responses above 4 KiB become 503, except those of HttpHandling::Stream and successes
  // with HttpResponse::held. Every 100 ms, connections are closed, those with the oldest unread responses first, until
  // the limit is kept. A connection with one request stays open if it holds all unsent bytes, so a response larger than
  // the limit can be read.
  int64_t max_unsent_bytes = int64_t{128} << 20;
  HttpAbuseLimits abuse = {};
  // Networks of proxies ("10.0.0.0/8", "::1/128"). Connections from these networks are exempt from the limits per
  // address, but not from the limit on requests of one HttpPeer::network that wait for a worker thread. A connection
  // may start with a header of the PROXY protocol, version 2, that gives the client's address. The limits of this
  // address then apply.
  std::vector<std::string> trusted_proxies = {};
  // Returns certificate and key for a new connection; null: plaintext. Called for each connection, so that a rotated
  // certificate is used. Must return the same object until the certificate changes.
  std::function<std::shared_ptr<const TlsPem>()> tls = {};
  // Called on each thread of the server. Must call its argument, which does the thread's work and returns when the
  // thread ends. May be null.
  std::function<void(const std::function<void()>&)> on_thread = {};
  // May be null; must outlive the server.
  HttpObserver* observer = nullptr;
};

// State of an open connection.
struct HttpConnectionStatus {
  std::string peer;
  // "http/1.1" or "h2", with "+tls" appended if encrypted; "handshake" until the protocol is known
  std::string protocol;
  absl::Duration age;
  int64_t requests = 0;        // number of requests since the connection was opened
  int64_t streams = 0;         // number of requests in progress
  int64_t received_bytes = 0;  // number of bytes read since the connection was opened, without TLS and PROXY header
  int64_t unsent_bytes = 0;    // number of bytes of responses that the kernel has not accepted
};

// Serves HTTP/1.1 and HTTP/2 on one address with one handler. With TLS, ALPN selects the HTTP version; in cleartext,
// the HTTP/2 preface selects HTTP/2. Upgrade is not supported. `loops` threads read and write the connections; TLS
// handshakes, decompression and blocking work run on other threads. Thread-safe.
class HttpServer {
 public:
  // Starts a server. UNAVAILABLE if the address cannot be bound: see ListenOnTcp and UnixListening. INVALID_ARGUMENT if
  // the certificates cannot be used or an entry of trusted_proxies is no network.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  // Calls Shutdown with a grace of one second.
  ~HttpServer();

  // Returns the bound host:port; empty if the server listens only on a unix socket.
  const std::string& address() const;
  // Returns "unix:///PATH"; empty if there is no unix socket.
  const std::string& socket_address() const;
  // Returns the number of open connections.
  int64_t connections() const;
  // Returns the number of bytes of responses and HTTP/2 frames that were not yet passed to the kernel, over all
  // connections.
  int64_t unsent_bytes() const;
  // Describes at most `most` open connections, largest first: those with the most unsent bytes, then those with the
  // most requests in progress, then those with the most received bytes. Waits at most half a second for the threads,
  // and leaves out the connections of threads that do not react.
  std::vector<HttpConnectionStatus> Describe(size_t most) const;

  // Asks clients to close their connections. Each further HTTP/1 response has "Connection: close". HTTP/2 clients get
  // two GOAWAYs: the first with the highest possible stream id, the second with the last accepted id. New connections
  // are still accepted; their clients get the GOAWAYs after their first request, or one GOAWAY from Shutdown.
  // Idempotent.
  void StartLeaving();
  // Stops listening, waits for at most `grace` for responses in progress, and closes all connections. Does not wait for
  // incomplete HTTP/1 bodies. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_SERVER_H_
