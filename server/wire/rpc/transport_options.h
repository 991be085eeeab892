// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_TRANSPORT_OPTIONS_H_
#define VITRINE_SERVER_WIRE_RPC_TRANSPORT_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/http/server.h"
#include "base/request_size.h"

namespace vitrine {

// Limits of one connection.
struct TransportOptions {
  // Largest message or body that is read. A longer one is refused with RESOURCE_EXHAUSTED, over HTTP with 413.
  int64_t max_message_bytes = kMaxRequestBytes;
  // Bytes of messages and bodies that were received and are still held, over all connections of callers. Beyond it
  // requests are refused with RESOURCE_EXHAUSTED. At least two of the largest messages; more lets more callers send at
  // once, and leaves less memory for models.
  int64_t max_transport_bytes = int64_t{512} << 20;
  // Bytes of the headers of one request: names, values and 32 for each. Beyond it the request ends with
  // RESOURCE_EXHAUSTED, over HTTP with 431.
  int64_t max_metadata_bytes = 16 << 10;
  // Requests at once on one connection; a client's further ones wait in the client, or go over another connection.
  int max_concurrent_streams = 256;
  // A connection older than this, give or take a tenth, is asked to reconnect, which spreads long-lived clients over
  // replicas. Infinite keeps connections for ever.
  absl::Duration max_connection_age = absl::Minutes(30);
  // Requests that are open when a connection reaches its age may go on for this long.
  absl::Duration connection_age_grace = absl::Minutes(5);
  // A connection without requests is closed after this: longer than the 60 s after which balancers close theirs, so
  // that none sends a request on a connection that is being closed. Infinite keeps it.
  absl::Duration max_connection_idle = absl::Seconds(75);
  // How often a silent HTTP/2 connection is pinged, and how long an answer may take before it is dropped.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // A client that pings more often, less a tenth, is sent away.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // A connection whose handshakes of TLS and HTTP/2, or whose next head, take longer than this is dropped.
  absl::Duration handshake_timeout = absl::Seconds(20);
};

// The same for the transport, without addresses.
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
