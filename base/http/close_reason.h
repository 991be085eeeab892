// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_CLOSE_REASON_H_
#define VITRINE_BASE_HTTP_CLOSE_REASON_H_

namespace vitrine {

// Why a connection was closed, or was not taken.
enum class CloseReason {
  kClient,           // the client has closed it
  kDone,             // its last response was sent, and one side had asked for the end
  kIdle,             // no request came for HttpServerOptions::idle_timeout
  kAge,              // it was older than HttpServerOptions::max_age
  kHeadTimeout,      // a head, a TLS handshake or HTTP/2's preface did not come in time
  kSlowClient,       // took its response, or sent its body, slower than HttpServerOptions::least_rate
  kKeepalive,        // did not answer a PING
  kTls,              // the handshake failed
  kCertificate,      // its certificate has expired, or its authority is no longer trusted
  kProtocol,         // breach of HTTP, or of the PROXY protocol
  kTooManyPings,     // PINGs within HttpServerOptions::min_ping_interval
  kAbuse,            // HttpAbuseLimits of the connection
  kUnsent,           // HttpServerOptions::max_unsent_bytes
  kConnectRate,      // HttpAbuseLimits::connect_rate
  kHandshakeRate,    // HttpAbuseLimits::handshake_rate
  kAddressLimit,     // HttpAbuseLimits::connections
  kConnectionLimit,  // HttpServerOptions::max_connections, or no file descriptor was left
  kShutdown,         // the server ends
};
inline constexpr int kCloseReasons = static_cast<int>(CloseReason::kShutdown) + 1;

// As a label: "client", "idle", "too_many_pings".
const char* CloseReasonName(CloseReason reason);

// Tells whether the server cut the connection off for what its client did: worth a line in the log.
bool IsCutOff(CloseReason reason);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_CLOSE_REASON_H_
