// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_CLOSE_REASON_H_
#define VITRINE_COMMON_HTTP_CLOSE_REASON_H_

namespace vitrine {

// Reason why a connection was closed or rejected.
enum class CloseReason {
  kClient,           // closed by the client
  kDone,             // last response sent, after the client or the server had asked to close the connection
  kIdle,             // no request within HttpServerOptions::idle_timeout
  kAge,              // connection older than HttpServerOptions::max_age
  kHeadTimeout,      // headers, TLS handshake or HTTP/2 preface did not arrive in time
  kSlowClient,       // client read, or over HTTP/1 sent a body, slower than HttpServerOptions::least_rate
  kKeepalive,        // PING not answered
  kTls,              // TLS handshake failed
  kCertificate,      // client certificate has expired, or its authority is no longer trusted
  kProtocol,         // violation of HTTP or of the PROXY protocol
  kTooManyPings,     // PINGs more often than HttpServerOptions::min_ping_interval
  kAbuse,            // connection exceeded HttpAbuseLimits
  kUnsent,           // exceeded HttpServerOptions::max_unsent_bytes
  kConnectRate,      // exceeded HttpAbuseLimits::connect_rate
  kHandshakeRate,    // exceeded HttpAbuseLimits::handshake_rate
  kAddressLimit,     // exceeded HttpAbuseLimits::connections
  kConnectionLimit,  // closed to stay within the limit of connections or descriptors
  kShutdown,         // server shutdown
};
inline constexpr int kCloseReasons = static_cast<int>(CloseReason::kShutdown) + 1;

// Reason why the server ended a request whose HTTP/2 connection stays open.
enum class StreamCutOff {
  kSlowBody,  // client sent the body slower than HttpServerOptions::least_rate
  kUnread,    // client granted no flow control window, and read the response slower than least_rate
};
inline constexpr int kStreamCutOffs = static_cast<int>(StreamCutOff::kUnread) + 1;

// Return the value of the metric's label: "client", "idle", "too_many_pings"; "slow_body", "unread".
const char* CloseReasonName(CloseReason reason);
const char* CloseReasonName(StreamCutOff reason);

// Returns true for the reasons that are logged: misbehaviour of the client, and limits that were reached.
bool IsCutOff(CloseReason reason);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_CLOSE_REASON_H_
