// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_
#define VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"
#include "server/models/admin/admin_service.h"
#include "server/observe/metrics.h"

namespace vitrine {

struct AdminOptions {
  // host:port or unix:///PATH of the Admin service; empty: there is none. A network address needs credentials: see
  // IdentityOptions::Validate. On a unix socket the credential is the user: this server's own, or root.
  std::string listen = {};
  // File that admin actions are appended to, a JSON object a line: see audit_log.h. Empty: the server's log.
  std::string audit_log = {};
};

// The listener of the Admin service: a server of its own, so that no policy can open its methods on the callers'
// listener. Every call is authorised and written to the audit log, refused ones too. Thread-compatible.
class AdminFront {
 public:
  // The parts outlive the front. UNAVAILABLE if the address cannot be bound; the errors of AuditLog::Open.
  static absl::StatusOr<std::unique_ptr<AdminFront>> Start(const AdminOptions& options, AdminService& service,
                                                           const Identity& identity, Metrics& metrics);
  virtual ~AdminFront() = default;

  // As bound.
  virtual const std::string& address() const = 0;

  // Takes no more connections, waits up to `grace` for calls and cancels the rest. A call that waits for a model must
  // be ended by the registry first. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_ADMIN_FRONT_H_
