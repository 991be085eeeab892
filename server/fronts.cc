// SPDX-License-Identifier: Apache-2.0
#include "server/fronts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "server/process/clock.h"
#include "server/process/crash_stack.h"

namespace vitrine {
namespace {

// Maximum wait for a listener's open calls to end and for their clients to read the answers. Clients that close their
// connections need less than 100 ms on an idle machine; a connection that its client does not close takes 0.5 s.
constexpr absl::Duration kShutdownGrace = absl::Seconds(1);
// Maximum wait for the open calls of the Admin service to end. Must be below ServerOptions::end_patience.
constexpr absl::Duration kAdminGrace = absl::Milliseconds(400);
// Bytes of unread responses that are allowed in addition to AdmissionOptions::max_answer_bytes.
constexpr int64_t kUnsentBeside = int64_t{32} << 20;
// Maximum number of connections of a listener that the status page shows.
constexpr size_t kShownConnections = 20;

// Stores an opened listener and its bound address. If it could not be opened, adds the error to `faults`.
template <typename Front>
void Keep(absl::StatusOr<std::unique_ptr<Front>> opened, std::unique_ptr<Front>& front, std::string& address,
          std::vector<absl::Status>& faults) {
  if (!opened.ok()) return faults.push_back(opened.status());
  front = *std::move(opened);
  address = front->address();
}

}  // namespace

Fronts::Fronts(const ServerOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      received_(std::make_shared<ByteBudget>(options.rpc.max_transport_bytes)),
      rpc_observer_(Listener::kGrpc, parts_.metrics.server(), SteadyClock()),
      http_observer_(Listener::kHttp, parts_.metrics.server(), SteadyClock()),
      admin_observer_(Listener::kAdmin, parts_.metrics.server(), SteadyClock()),
      health_observer_(Listener::kHealth, parts_.metrics.server(), SteadyClock()),
      metrics_observer_(Listener::kMetrics, parts_.metrics.server(), SteadyClock()) {}

void Fronts::Open(std::vector<absl::Status>& faults) {
  // If an identity file is faulty, no calls are accepted: there is no fallback to plaintext.
  absl::StatusOr<std::unique_ptr<Identity>> identity = Identity::Open(options_.identity);
  faults.push_back(identity.status());
  if (identity.ok()) {
    identity_ = *std::move(identity);
    OpenCalls(faults);
  }
  if (!options_.metrics.empty()) {
    Keep(StartHttpEndpoint(options_.metrics, {.metrics = &parts_.metrics,
                                              .scrape_period = options_.scrape_period,
                                              .not_ready = parts_.not_ready,
                                              .status =
                                                  [this] {
                                                    ServerStatus status = parts_.status.Read();
                                                    status.connections = Connections();
                                                    return status;
                                                  },
                                              .observer = &metrics_observer_}),
         http_, addresses_.metrics, faults);
  }
  is_open_.store(true, std::memory_order_release);
}

HttpServerOptions Fronts::CallerOptions(HttpObserver& observer) const {
  HttpServerOptions http = ToHttpServerOptions(options_.rpc);
  http.received = received_;
  http.max_unsent_bytes = options_.admission.max_answer_bytes + kUnsentBeside;
  http.abuse = options_.abuse;
  http.trusted_proxies = options_.trusted_proxies;
  http.tls = identity_->HttpTls();
  http.on_thread = WithCrashStack;
  http.observer = &observer;
  return http;
}

void Fronts::OpenCalls(std::vector<absl::Status>& faults) {
  const RpcFront::Parts calls = {
      .service = parts_.service, .registry = parts_.registry, .identity = *identity_, .health = parts_.health};
  if (options_.serves_http()) {
    absl::StatusOr<HttpPortPage> page = OpenPage();
    if (!page.ok()) return faults.push_back(page.status());
    plain_ = std::make_shared<HttpPort>(options_.http_cors_origins, parts_.service, parts_.registry, *identity_,
                                        parts_.health, *std::move(page));
  }
  const HttpHandler plain = [port = plain_](const std::shared_ptr<HttpRequest>& request) {
    return port->Begin(request);
  };
  HttpServerOptions rpc = CallerOptions(rpc_observer_);
  rpc.purpose = "--listen";
  rpc.socket_purpose = "--socket";
  rpc.listen = options_.rpc.listen;
  rpc.socket = options_.rpc.socket;
  rpc.loops = std::max(1, options_.rpc.queues);
  Keep(RpcFront::Start(std::move(rpc), calls, options_.listen_grpc_only ? nullptr : plain), rpc_, addresses_.rpc,
       faults);
  if (rpc_ != nullptr) addresses_.socket = rpc_->socket_address();
  if (!options_.http.empty()) {
    HttpServerOptions http = CallerOptions(http_observer_);
    http.purpose = "--http";
    http.listen = options_.http;
    Keep(HttpServer::Start(http, plain), http_port_, addresses_.http, faults);
  }
  if (!options_.admin.listen.empty()) {
    Keep(AdminFront::Start(options_.admin, CallerOptions(admin_observer_), parts_.admin, *identity_, parts_.metrics),
         admin_front_, addresses_.admin, faults);
  }
  if (!options_.health_listen.empty()) {
    Keep(RpcFront::StartProbes(options_.health_listen, calls, parts_.not_ready, health_observer_), health_front_,
         addresses_.health, faults);
  }
}

absl::StatusOr<HttpPortPage> Fronts::OpenPage() {
  HttpPortPage page = {
      .status_json = [this](const Caller& caller) { return StatusJson(ShownTo(caller, parts_.status.Read())); }};
  if (options_.page) {
    ASSIGN_OR_RETURN(page.files, PageFiles::Open(options_.page_samples, options_.page_burst));
  }
  return page;
}

std::vector<std::pair<std::string, absl::Time>> Fronts::Certificates() const {
  if (!IsOpen()) return {};
  const absl::Time expires = identity_ == nullptr ? absl::InfiniteFuture() : identity_->certificate_expires();
  if (expires == absl::InfiniteFuture()) return {};
  std::vector<std::pair<std::string, absl::Time>> certificates = {{"grpc", expires}};
  const std::string& admin = addresses_.admin;
  if (!admin.empty() && !absl::StartsWith(admin, "unix:")) certificates.emplace_back("admin", expires);
  return certificates;
}

std::vector<std::string> Fronts::RejectedSettings(const absl::Status& serving_config) const {
  std::vector<std::string> rejected;
  if (IsOpen() && identity_ != nullptr) {
    for (const absl::Status& fault : identity_->faults()) {
      rejected.push_back(absl::StrReplaceAll(fault.message(), {{"\n", "; "}}));
    }
  }
  if (!serving_config.ok()) {
    rejected.push_back(absl::StrCat("--serving-config ", std::string(serving_config.message())));
  }
  return rejected;
}

int64_t Fronts::open_connections() const {
  if (!IsOpen()) return 0;
  return (rpc_ == nullptr ? 0 : rpc_->open_connections()) + (http_port_ == nullptr ? 0 : http_port_->connections());
}

int64_t Fronts::unsent_bytes() const {
  if (!IsOpen()) return 0;
  return (rpc_ == nullptr ? 0 : rpc_->unsent_bytes()) + (http_port_ == nullptr ? 0 : http_port_->unsent_bytes());
}

std::vector<ServerStatus::Connection> Fronts::Connections() const {
  std::vector<ServerStatus::Connection> connections;
  if (!IsOpen()) return connections;
  const auto add = [&](const char* listener, const auto* front) {
    if (front == nullptr) return;
    for (HttpConnectionStatus& each : front->Describe(kShownConnections)) {
      connections.push_back({listener, std::move(each)});
    }
  };
  add("grpc", rpc_.get());
  add("http", http_port_.get());
  return connections;
}

void Fronts::StartLeaving() {
  if (rpc_ != nullptr) rpc_->StartLeaving();
  if (http_port_ != nullptr) http_port_->StartLeaving();
}

void Fronts::CloseStreams() {
  if (rpc_ != nullptr) rpc_->CloseStreams();
}

void Fronts::EndCalls() {
  if (http_port_ != nullptr) http_port_->Shutdown(kShutdownGrace);
  if (rpc_ != nullptr) rpc_->Shutdown(kShutdownGrace);
  if (health_front_ != nullptr) health_front_->Shutdown(absl::ZeroDuration());
}

void Fronts::EndAdmin() {
  if (admin_front_ != nullptr) admin_front_->Shutdown(kAdminGrace);
}

}  // namespace vitrine
