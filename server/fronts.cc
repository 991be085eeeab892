// SPDX-License-Identifier: Apache-2.0
#include "server/fronts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// How long calls may take to end once their answers are out.
constexpr absl::Duration kShutdownGrace = absl::Milliseconds(400);

// What was opened, and its address as bound; or why not.
template <typename Front>
void Keep(absl::StatusOr<std::unique_ptr<Front>> opened, std::unique_ptr<Front>& front, std::string& address,
          std::vector<absl::Status>& faults) {
  if (!opened.ok()) return faults.push_back(opened.status());
  front = *std::move(opened);
  address = front->address();
}

}  // namespace

void Fronts::Open(std::vector<absl::Status>& faults) {
  // Whatever is wrong with a file of the identity, no calls are taken: there is no falling back to plaintext.
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
                                              .status = [this] { return parts_.status.Read(); }}),
         http_, addresses_.metrics, faults);
  }
}

void Fronts::OpenCalls(std::vector<absl::Status>& faults) {
  ClassifyService& service = parts_.service;
  Registry& registry = parts_.registry;
  Health& health = parts_.health;
  Keep(RpcFront::Start(options_.rpc, service, registry, *identity_, health), rpc_, addresses_.rpc, faults);
  if (rpc_ != nullptr) addresses_.socket = rpc_->socket_address();
  if (!options_.http.empty()) {
    HttpServerOptions http = {.listen = options_.http, .max_body_bytes = options_.rpc.max_message_bytes};
    // The same share of the machine's memory as messages over gRPC, see docs/operations/serving.md.
    http.max_all_bodies_bytes = std::min(http.max_all_bodies_bytes, options_.rpc.max_transport_bytes);
    http.tls = identity_->HttpTls();
    absl::StatusOr<HttpPortPage> page = OpenPage();
    if (!page.ok()) return faults.push_back(page.status());
    Keep(StartHttpPort(http, options_.http_cors_origins, service, registry, *identity_, health, *std::move(page)),
         http_port_, addresses_.http, faults);
  }
  if (!options_.admin.listen.empty()) {
    Keep(AdminFront::Start(options_.admin, parts_.admin, *identity_, parts_.metrics), admin_front_, addresses_.admin,
         faults);
  }
  if (!options_.health_listen.empty()) {
    Keep(RpcFront::Start(ProbeOptions(options_.health_listen), service, registry, *identity_, health), health_front_,
         addresses_.health, faults);
  }
}

absl::StatusOr<HttpPortPage> Fronts::OpenPage() {
  HttpPortPage page = {
      .status_json = [this](const Caller& caller) { return StatusJson(ShownTo(caller, parts_.status.Read())); }};
  if (options_.page) {
    ASSIGN_OR_RETURN(page.files, PageFiles::Open(options_.page_samples));
  }
  return page;
}

std::vector<std::pair<std::string, absl::Time>> Fronts::Certificates() const {
  const absl::Time expires = identity_ == nullptr ? absl::InfiniteFuture() : identity_->certificate_expires();
  if (expires == absl::InfiniteFuture()) return {};
  std::vector<std::pair<std::string, absl::Time>> certificates = {{"grpc", expires}};
  const std::string& admin = addresses_.admin;
  if (!admin.empty() && !absl::StartsWith(admin, "unix:")) certificates.emplace_back("admin", expires);
  return certificates;
}

void Fronts::CloseStreams() {
  if (rpc_ != nullptr) rpc_->CloseStreams();
}

void Fronts::EndCalls() {
  http_port_.reset();
  if (rpc_ != nullptr) rpc_->Shutdown(kShutdownGrace);
  if (health_front_ != nullptr) health_front_->Shutdown(absl::ZeroDuration());
}

void Fronts::EndAdmin() {
  if (admin_front_ != nullptr) admin_front_->Shutdown(kShutdownGrace);
}

}  // namespace vitrine
