// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_FRONTS_H_
#define VITRINE_SERVER_FRONTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/byte_budget.h"
#include "common/http/server.h"
#include "server/admin/admin_service.h"
#include "server/identity/identity.h"
#include "server/observe/connection_observer.h"
#include "server/observe/metrics.h"
#include "server/options.h"
#include "server/pages/http_endpoint.h"
#include "server/pages/status_reader.h"
#include "server/registry/registry.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/http_port.h"
#include "server/wire/rpc/admin_front.h"
#include "server/wire/rpc_front.h"

namespace vitrine {

// The listeners of a server and their access control. One thread opens and ends the listeners; after Open, any thread
// may call the const functions.
class Fronts {
 public:
  // Objects that answer the calls; they must outlive the listeners.
  struct Parts {
    ClassifyService& service;
    Registry& registry;
    Health& health;
    AdminService& admin;
    Metrics& metrics;
    StatusReader& status;
    std::function<std::string()> not_ready;
  };
  // Bound addresses of the listeners; an address is empty if the server has no such listener.
  struct Addresses {
    std::string rpc, socket, metrics, health, admin, http;
  };

  // `options` must outlive this object.
  Fronts(const ServerOptions& options, Parts parts);

  // Opens the listeners in the options. Adds to `faults` an error for each listener or file that cannot be opened.
  void Open(std::vector<absl::Status>& faults);
  const Addresses& addresses() const { return addresses_; }  // constant after Open

  // The functions from here to RejectedSettings may also be called while Open runs. Until Open ends, they report no
  // listener and no connection.
  bool TakeCalls() const { return IsOpen() && rpc_ != nullptr; }
  // Returns the number of open connections on the listeners for clients.
  int64_t open_connections() const;
  int64_t open_streams() const { return TakeCalls() ? rpc_->open_streams() : 0; }
  // Returns the bytes of responses that were not yet passed to the kernel.
  int64_t unsent_bytes() const;
  // Returns the bytes of received messages and bodies that are still in memory.
  ReceivedStatus received() const { return {received_->used(), received_->limit()}; }
  // Returns the largest open connections on the listeners for clients, at most 20 of each listener.
  std::vector<ServerStatus::Connection> Connections() const;
  // Returns the expiry of the certificate of the listener "grpc" and, if the Admin service has a TCP port, of the
  // listener "admin". Empty without TLS.
  std::vector<std::pair<std::string, absl::Time>> Certificates() const;
  // Returns an error text for each rejected settings file: the identity's files (see Identity::faults), and the file of
  // --serving-config if `serving_config` is an error.
  std::vector<std::string> RejectedSettings(const absl::Status& serving_config) const;

  // Reads the identity's files again: see Identity::Reread.
  absl::Status Reread() { return identity_ == nullptr ? absl::OkStatus() : identity_->Reread(); }

  // The shutdown functions, in the order in which they must be called. StartLeaving asks clients to reconnect to
  // another server, and continues to serve their calls.
  void StartLeaving();
  // Stops accepting further requests on open streams.
  void CloseStreams();
  // Stops accepting calls and ends the streams. Waits up to kShutdownGrace for open calls and for unread answers.
  void EndCalls();
  void EndAdmin();
  void EndMetrics() { http_.reset(); }

 private:
  bool IsOpen() const { return is_open_.load(std::memory_order_acquire); }
  void OpenCalls(std::vector<absl::Status>& faults);
  absl::StatusOr<HttpPortPage> OpenPage();
  // Returns the options of a listener for clients, or of the Admin service, without its address.
  HttpServerOptions CallerOptions(HttpObserver& observer) const;

  const ServerOptions& options_;
  const Parts parts_;
  const std::shared_ptr<ByteBudget> received_;
  ConnectionObserver rpc_observer_;
  ConnectionObserver http_observer_;
  ConnectionObserver admin_observer_;
  ConnectionObserver health_observer_;
  ConnectionObserver metrics_observer_;
  Addresses addresses_;
  std::unique_ptr<Identity> identity_;
  std::shared_ptr<HttpPort> plain_;  // answers the HTTP requests of clients; null if HTTP is not served
  std::unique_ptr<RpcFront> rpc_;
  std::unique_ptr<RpcFront> health_front_;
  std::unique_ptr<AdminFront> admin_front_;
  std::unique_ptr<HttpServer> http_port_;
  std::unique_ptr<HttpServer> http_;
  std::atomic<bool> is_open_ = false;  // true once the members above are constant
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_FRONTS_H_
