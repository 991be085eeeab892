// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_FRONT_H_
#define VITRINE_SERVER_WIRE_RPC_FRONT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/server.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/health.h"
#include "server/wire/rpc/transport_options.h"

namespace vitrine {

// The listener of the callers. Limits of its connections stand in TransportOptions.
struct RpcOptions : TransportOptions {
  // host:port. Port 0 picks a free one.
  std::string listen = "0.0.0.0:8500";
  // "unix:///PATH" of a socket on which the same is served, without TLS: mode 0600, so that only this server's user and
  // root reach it. Empty: there is none.
  std::string socket = {};
  // Threads that read and write connections. 0: as many as QueuesFor says.
  int queues = 0;
};

// How many threads read and write the connections that feed so many executors: one for each eight. More than are needed
// take cores from the executors.
constexpr int QueuesFor(int executors) {
  return (executors + 7) / 8;
}

// A listener with gRPC: Classifier, Registry, the Open Inference Protocol and health, and reflection where the server
// takes no credentials; or health alone. Requests that are not gRPC's go to a handler. Thread-safe but for Shutdown.
class RpcFront {
 public:
  // The services behind the calls. They outlive the front.
  struct Parts {
    ClassifyService& service;
    Registry& registry;
    const Identity& identity;
    Health& health;
  };

  // Listens and serves; `health` says NOT_SERVING until Health::SetServing. `plain` answers requests over HTTP; null:
  // gRPC alone is served. Largest message: http.max_body_bytes. Errors as HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<RpcFront>> Start(HttpServerOptions http, const Parts& parts,
                                                         HttpHandler plain = nullptr);
  // The same for probes, which speak neither TLS nor tokens (kubelet's): grpc.health.v1.Health, GET /healthz and
  // /readyz, and nothing else. `not_ready` returns why the server is not ready, or "".
  static absl::StatusOr<std::unique_ptr<RpcFront>> StartProbes(const std::string& listen, const Parts& parts,
                                                               std::function<std::string()> not_ready);
  virtual ~RpcFront() = default;

  // host:port as bound.
  virtual const std::string& address() const = 0;
  // "unix:///PATH" of the socket; empty where there is none.
  virtual const std::string& socket_address() const = 0;

  // Connections that are open now, and calls that last until their clients end them.
  virtual int64_t open_connections() const = 0;
  virtual int64_t open_streams() const = 0;
  virtual std::vector<HttpConnectionStatus> Describe(size_t most) const = 0;

  // Asks clients to go elsewhere: see HttpServer::StartLeaving.
  virtual void StartLeaving() = 0;
  // Takes no further request from streams, and ends each when what it has in flight is answered; new ones at once.
  virtual void CloseStreams() = 0;
  // Ends streams and watches, stops listening, waits up to `grace` for calls and closes every connection. Requires that
  // every request was answered, or will be without this thread: an answer must not come later. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_FRONT_H_
