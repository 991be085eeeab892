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
#include "common/http/server.h"
#include "server/identity/identity.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/health.h"
#include "server/wire/rpc/transport_options.h"

namespace vitrine {

// Options of the listener for clients. TransportOptions has the limits of connections.
struct RpcOptions : TransportOptions {
  // host:port. Port 0 picks a free port.
  std::string listen = "0.0.0.0:8500";
  // "unix:///PATH" of an additional socket with the same services, without TLS. Its mode is 0600: only this server's
  // user and root can connect. Empty: no socket.
  std::string socket = {};
  // Number of threads that read and write connections. 0: QueuesFor(executors).
  int queues = 0;
};

// Returns the number of connection threads: one per eight executors, rounded up. More threads would take cores from
// executors.
constexpr int QueuesFor(int executors) {
  return (executors + 7) / 8;
}

// A listener for gRPC. It serves Classifier, Registry, the Open Inference Protocol, health and, if no credentials are
// configured, reflection. If it is a listener for probes, it serves only health. The handler `plain` answers requests
// that are not gRPC. Thread-safe except Shutdown.
class RpcFront {
 public:
  // The services that answer the calls. They must outlive the RpcFront.
  struct Parts {
    ClassifyService& service;
    Registry& registry;
    const Identity& identity;
    Health& health;
  };

  // Listens and serves. The health service reports NOT_SERVING until Health::SetServing is called. `plain` answers HTTP
  // requests that are not gRPC; null: they are rejected. Maximum message size: http.max_body_bytes. For errors, see
  // HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<RpcFront>> Start(HttpServerOptions http, const Parts& parts,
                                                         HttpHandler plain = nullptr);
  // Starts a listener for probes, without TLS or tokens, because kubelet uses neither. It serves only
  // grpc.health.v1.Health, GET /healthz and GET /readyz. `not_ready` returns why the server is not ready, or "".
  static absl::StatusOr<std::unique_ptr<RpcFront>> StartProbes(const std::string& listen, const Parts& parts,
                                                               std::function<std::string()> not_ready,
                                                               HttpObserver& observer);
  virtual ~RpcFront() = default;

  // Returns the bound address, host:port.
  virtual const std::string& address() const = 0;
  // Returns "unix:///PATH" of the socket; empty if there is no socket.
  virtual const std::string& socket_address() const = 0;

  // Return the number of open connections, and the number of open streams and watches.
  virtual int64_t open_connections() const = 0;
  virtual int64_t open_streams() const = 0;
  virtual int64_t unsent_bytes() const = 0;  // see HttpServer::unsent_bytes
  virtual std::vector<HttpConnectionStatus> Describe(size_t most) const = 0;

  // Asks clients to connect to another server: see HttpServer::StartLeaving.
  virtual void StartLeaving() = 0;
  // Reads no further requests from streams, and ends each stream once its requests in flight are answered. Streams that
  // begin later end at once.
  virtual void CloseStreams() = 0;
  // Ends streams and watches, stops listening, waits up to `grace` for calls and closes every connection. Other threads
  // must answer every request before Shutdown returns, and must not answer requests later. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_FRONT_H_
