// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_FRONT_H_
#define VITRINE_SERVER_WIRE_RPC_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/health.h"
#include "server/wire/rpc/served_port.h"

namespace vitrine {

// The listener of the callers, or of probes. What a connection may take stands in TransportOptions.
struct RpcOptions : TransportOptions {
  // host:port. Port 0 picks a free one.
  std::string listen = "0.0.0.0:8500";
  // "unix:///PATH" of a socket on which calls are taken too, without TLS: mode 0600, so that only this server's user
  // and root reach it. Empty: there is none.
  std::string socket = {};
  // Threads that read calls, each with its own completion queue. 0: as many as QueuesFor says.
  int queues = 0;
  // Answers grpc.health.v1.Health and nothing else, without TLS, and counts no connections: for probes that speak
  // neither TLS nor tokens (kubelet's).
  bool probes_only = false;
};

// Of a listener for probes alone, on host:port.
RpcOptions ProbeOptions(const std::string& listen);

// How many completion queues feed so many executors: one for each eight. More than are needed take cores from the
// executors.
constexpr int QueuesFor(int executors) {
  return (executors + 7) / 8;
}

// The gRPC listener: Classifier, Registry and health, and reflection where the server takes no credentials, on
// completion queues with one thread each; or health alone. Thread-safe but for Shutdown.
class RpcFront {
 public:
  // Listens and serves; `health` says NOT_SERVING until Health::SetServing. The parts outlive the front.
  // UNAVAILABLE if an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<RpcFront>> Start(const RpcOptions& options, ClassifyService& service,
                                                         Registry& registry, const Identity& identity, Health& health);
  virtual ~RpcFront() = default;

  // host:port as bound.
  virtual const std::string& address() const = 0;
  // "unix:///PATH" of the socket; empty where there is none.
  virtual std::string socket_address() const = 0;

  // Connections that are open now, and calls that last until their clients end them.
  virtual int64_t open_connections() = 0;
  virtual int64_t open_streams() = 0;

  // Takes no further request from streams, and ends each when what it has in flight is answered; new ones at once.
  virtual void CloseStreams() = 0;

  // Ends streams and watches, stops listening, waits up to `grace` for calls, cancels the rest and ends the threads.
  // Requires that every request was answered, or will be without this thread: an answer must not come later.
  // Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_FRONT_H_
