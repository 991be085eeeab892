// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_TRANSPORT_OPTIONS_H_
#define VITRINE_SERVER_WIRE_RPC_TRANSPORT_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/http/server.h"
#include "common/request_size.h"

namespace vitrine {

// Limits of a client's connection.
struct TransportOptions {
  // Maximum size of a message or body. A larger message or body is rejected with RESOURCE_EXHAUSTED (HTTP status 413).
  int64_t max_message_bytes = kMaxRequestBytes;
  // Limit on the bytes of received messages and bodies in memory, over all client connections. Above it, requests are
  // rejected with RESOURCE_EXHAUSTED. Must be at least twice max_message_bytes. With a higher limit, more clients can
  // send at the same time, but less memory is left for models.
  int64_t max_transport_bytes = int64_t{512} << 20;
  // Limit on the headers of one request: bytes of names and values, plus 32 bytes per header. Above it, the request is
  // rejected with RESOURCE_EXHAUSTED (HTTP status 431).
  int64_t max_metadata_bytes = 16 << 10;
  // Limit on concurrent requests of one connection; further requests wait in the client or use another connection.
  int max_concurrent_streams = 256;
  // Age (plus or minus 10 %) at which a connection's client is asked to reconnect; this spreads long-lived clients over
  // replicas. Infinite: no limit.
  absl::Duration max_connection_age = absl::Minutes(30);
  // Time that open requests have to finish after a connection reaches its maximum age.
  absl::Duration connection_age_grace = absl::Minutes(5);
  // A connection without requests is closed after this time. The default is longer than the usual 60 s of load
  // balancers, so that a balancer sends no request on a connection that is being closed. Infinite: no limit.
  absl::Duration max_connection_idle = absl::Seconds(75);
  // Interval at which a silent HTTP/2 connection is pinged. If the ping is not answered within the timeout, the
  // connection is closed.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // Minimum interval between a client's pings, with 10 % tolerance. A connection that pings more often is closed.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // Time limit for a request's headers; for the first request, it includes the handshakes of TLS and HTTP/2.
  absl::Duration handshake_timeout = absl::Seconds(20);
};

// Converts the limits to HttpServerOptions. The caller sets the addresses.
inline HttpServerOptions ToHttpServerOptions(const TransportOptions& transport) {
  HttpServerOptions options;
  options.request_timeout = transport.handshake_timeout;
  options.idle_timeout = transport.max_connection_idle;
  options.max_age = transport.max_connection_age;
  options.age_grace = transport.connection_age_grace;
  options.keepalive_time = transport.keepalive_time;
  options.keepalive_timeout = transport.keepalive_timeout;
  options.min_ping_interval = transport.min_ping_interval;
  options.max_body_bytes = transport.max_message_bytes;
  options.max_head_bytes = transport.max_metadata_bytes;
  options.max_concurrent_streams = transport.max_concurrent_streams;
  return options;
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_TRANSPORT_OPTIONS_H_
