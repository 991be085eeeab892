// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_HEALTH_FRONT_H_
#define VITRINE_SERVER_WIRE_RPC_HEALTH_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/health.h"

namespace vitrine {

// A listener without TLS that answers grpc.health.v1.Health and nothing else, for probes that speak neither TLS nor
// tokens (kubelet's). Says what the health service of the callers' listener says. Thread-compatible.
class HealthFront {
 public:
  // The parts outlive the front. UNAVAILABLE if host:port cannot be bound.
  static absl::StatusOr<std::unique_ptr<HealthFront>> Start(const std::string& address, ClassifyService& service,
                                                            Registry& registry, const Identity& identity,
                                                            Health& health);
  virtual ~HealthFront() = default;

  // host:port as bound.
  virtual const std::string& address() const = 0;
  // Ends watches, stops listening. Idempotent.
  virtual void Shutdown() = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_HEALTH_FRONT_H_
