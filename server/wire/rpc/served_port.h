// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_SERVED_PORT_H_
#define VITRINE_SERVER_WIRE_RPC_SERVED_PORT_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/request_size.h"
#include "server/wire/rpc/listener.h"

namespace vitrine {

// What one connection may take of the server.
struct TransportOptions {
  // Largest message that is read. One byte more is refused by the transport with RESOURCE_EXHAUSTED.
  int64_t max_message_bytes = kMaxRequestBytes;
  // What the transport may hold of messages that are still on their way, over all connections. Beyond it the transport
  // stops reading and ends calls with RESOURCE_EXHAUSTED. At least two of the largest messages; more lets more callers
  // send at once, and leaves less memory for models.
  int64_t max_transport_bytes = int64_t{512} << 20;
  // Headers of one call, names and values and 32 bytes for each. Beyond it the call ends with RESOURCE_EXHAUSTED.
  int64_t max_metadata_bytes = 8 << 10;
  // Calls at once on one connection; a client's further ones wait in the client, or go over another connection.
  int max_concurrent_streams = 256;
  // A connection older than this is asked to reconnect, which spreads long-lived clients over replicas and reaps idle
  // ones. Infinite keeps connections for ever.
  absl::Duration max_connection_age = absl::Minutes(30);
  // Calls that are open when a connection reaches its age may go on for this long.
  absl::Duration connection_age_grace = absl::Minutes(5);
  // A connection without calls is closed after this. Infinite keeps it.
  absl::Duration max_connection_idle = absl::Minutes(5);
  // How often a silent connection is pinged, and how long an answer may take before it is dropped.
  absl::Duration keepalive_time = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // A client that pings more often is sent away.
  absl::Duration min_ping_interval = absl::Seconds(10);
  // A connection that has not finished the handshakes of TLS and HTTP/2 after this is dropped.
  absl::Duration handshake_timeout = absl::Seconds(20);
};

// A grpc::Server behind a Listener of ours: see listener.h for why it accepts itself. Thread-compatible.
class ServedPort {
 public:
  // Sets what every listener has in common. Nothing listens yet.
  explicit ServedPort(const TransportOptions& options);
  ~ServedPort() { Shutdown(absl::ZeroDuration()); }
  ServedPort(const ServedPort&) = delete;
  ServedPort& operator=(const ServedPort&) = delete;

  // Lets Start open a second way in, for connections that do not leave the machine: without TLS.
  void AddLocal();

  // For services and completion queues, before Start.
  grpc::ServerBuilder& builder() { return builder_; }

  // Builds the server. UNAVAILABLE if gRPC cannot start it.
  absl::Status Start(std::shared_ptr<grpc::ServerCredentials> credentials);

  // Takes over a connected socket, which does not block. Requires that Start succeeded. One thread at a time.
  void Take(int connection);
  // The same for one that came over a unix socket. Requires AddLocal.
  void TakeLocal(int connection);

  // Waits up to `grace` for calls and cancels the rest. Idempotent. Queues are the caller's to shut down afterwards,
  // and before this object goes.
  void Shutdown(absl::Duration grace);

 private:
  grpc::ServerBuilder builder_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> local_acceptor_;  // null without AddLocal
  std::unique_ptr<grpc::Server> server_;
  bool shut_down_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_SERVED_PORT_H_
