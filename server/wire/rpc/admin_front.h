// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_
#define VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/server.h"
#include "server/admin/admin_service.h"
#include "server/identity/identity.h"
#include "server/observe/metrics.h"

namespace vitrine {

struct AdminOptions {
  // host:port or unix:///PATH of the Admin service; empty: no Admin service. A network address requires credentials:
  // see IdentityOptions::Validate. A unix socket accepts only this server's user and root.
  std::string listen = {};
  // File to which admin actions are appended, one JSON object per line: see audit_log.h. Empty: the server's log.
  std::string audit_log = {};
};

// The listener of the Admin service. It is a separate server, so an access policy can never allow admin methods on the
// listener for clients. Calls that reach a worker are checked for permission and audited, even if they are rejected.
// Thread-compatible.
class AdminFront {
 public:
  // Starts the listener. `http` gives TLS, observer and the limits of connections; the listener has lower limits of its
  // own on sizes, concurrent calls and open connections. The other arguments, except `options`, must outlive the
  // AdminFront. UNAVAILABLE: the address cannot be bound. For other errors, see AuditLog::Open.
  static absl::StatusOr<std::unique_ptr<AdminFront>> Start(const AdminOptions& options, HttpServerOptions http,
                                                           AdminService& service, const Identity& identity,
                                                           Metrics& metrics);
  virtual ~AdminFront() = default;

  // Returns the bound address.
  virtual const std::string& address() const = 0;

  // Stops listening, waits up to `grace` for calls and cancels the remaining calls. Call Registry::Stop before
  // Shutdown, so that calls that wait for a model end. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_
