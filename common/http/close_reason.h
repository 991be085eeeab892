// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_CLOSE_REASON_H_
#define VITRINE_COMMON_HTTP_CLOSE_REASON_H_

namespace vitrine {

// Reason why a connection was closed or rejected.
enum class CloseReason {
  kClient,           // closed by the client
  kDone,             // last response sent, and one side had asked to close
  kIdle,             // no request for HttpServerOptions::idle_timeout
  kAge,              // older than HttpServerOptions::max_age
  kHeadTimeout,      // headers, TLS handshake or HTTP/2 preface not received in time
  kSlowClient,       // read its response, or sent its body, slower than HttpServerOptions::least_rate
  kKeepalive,        // PING not answered
  kTls,              // TLS handshake failed
  kCertificate,      // client certificate expired, or its authority no longer trusted
  kProtocol,         // violation of HTTP or of the PROXY protocol
  kTooManyPings,     // PINGs within HttpServerOptions::min_ping_interval
  kAbuse,            // HttpAbuseLimits of the connection
  kUnsent,           // HttpServerOptions::max_unsent_bytes
  kConnectRate,      // HttpAbuseLimits::connect_rate
  kHandshakeRate,    // HttpAbuseLimits::handshake_rate
  kAddressLimit,     // HttpAbuseLimits::connections
  kConnectionLimit,  // HttpServerOptions::max_connections, or no file descriptor was left
  kShutdown,         // server shutdown
};
inline constexpr int kCloseReasons = static_cast<int>(CloseReason::kShutdown) + 1;

// Returns the metric label: "client", "idle", "too_many_pings".
const char* CloseReasonName(CloseReason reason);

// Returns true if the server closed the connection because of the client's behavior, which is logged.
bool IsCutOff(CloseReason reason);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_CLOSE_REASON_H_
