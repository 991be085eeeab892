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
#include "base/http/byte_budget.h"
#include "base/http/server.h"
#include "server/identity/identity.h"
#include "server/models/admin/admin_service.h"
#include "server/models/registry/registry.h"
#include "server/observe/connection_observer.h"
#include "server/observe/metrics.h"
#include "server/options.h"
#include "server/pages/http_endpoint.h"
#include "server/pages/status_reader.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/http_port.h"
#include "server/wire/rpc/admin_front.h"
#include "server/wire/rpc_front.h"

namespace vitrine {

// The listeners of a server, and who may call them. Opened and ended by one thread; what is read, by any.
class Fronts {
 public:
  // Who answers; outlives the fronts.
  struct Parts {
    ClassifyService& service;
    Registry& registry;
    Health& health;
    AdminService& admin;
    Metrics& metrics;
    StatusReader& status;
    std::function<std::string()> not_ready;
  };
  // As bound; empty where there is no such listener.
  struct Addresses {
    std::string rpc, socket, metrics, health, admin, http;
  };

  // `options` outlive the fronts.
  Fronts(const ServerOptions& options, Parts parts);

  // Opens every listener that the options have, and adds to `faults` what keeps one from being opened.
  void Open(std::vector<absl::Status>& faults);
  const Addresses& addresses() const { return addresses_; }  // constant after Open

  // Those from here to received() may be called from any thread at any time: a listener that is open is asked while
  // others are being opened. Until Open has ended there is nothing.
  bool TakeCalls() const { return IsOpen() && rpc_ != nullptr; }
  // Connections of the listeners of callers that are open.
  int64_t open_connections() const;
  int64_t open_streams() const { return TakeCalls() ? rpc_->open_streams() : 0; }
  // Bytes of callers' messages and bodies that are still held.
  ReceivedStatus received() const { return {received_->used(), received_->limit()}; }
  // Listeners that show a certificate, and its end; none without TLS. A unix socket shows none.
  std::vector<std::pair<std::string, absl::Time>> Certificates() const;

  // Reads the files of the identity now: see Identity::Reread.
  absl::Status Reread() { return identity_ == nullptr ? absl::OkStatus() : identity_->Reread(); }

  // The end, in this order. Clients are asked to go elsewhere, and served until they do.
  void StartLeaving();
  // Streams take no further requests.
  void CloseStreams();
  // No calls are taken any more; those whose answers are out have a moment to end.
  void EndCalls();
  void EndAdmin();
  void EndMetrics() { http_.reset(); }

 private:
  bool IsOpen() const { return is_open_.load(std::memory_order_acquire); }
  void OpenCalls(std::vector<absl::Status>& faults);
  absl::StatusOr<HttpPortPage> OpenPage();
  // Returns the options of a listener of callers, without its address.
  HttpServerOptions CallerOptions(HttpObserver& observer) const;

  const ServerOptions& options_;
  const Parts parts_;
  const std::shared_ptr<ByteBudget> received_;
  ConnectionObserver rpc_observer_;
  ConnectionObserver http_observer_;
  Addresses addresses_;
  std::unique_ptr<Identity> identity_;
  std::shared_ptr<HttpPort> plain_;  // what callers get over HTTP, on any listener; null: nothing
  std::unique_ptr<RpcFront> rpc_;
  std::unique_ptr<RpcFront> health_front_;
  std::unique_ptr<AdminFront> admin_front_;
  std::unique_ptr<HttpServer> http_port_;
  std::unique_ptr<HttpServer> http_;
  std::atomic<bool> is_open_ = false;  // nothing above changes any more
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_FRONTS_H_
