// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc_front.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/http/byte_budget.h"
#include "common/status_macros.h"
#include "server/process/crash_stack.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_server.h"

namespace vitrine {
namespace {

// Limits of the probe listener: a probe sends a service name and gets a status.
constexpr int64_t kMaxProbeBytes = 4 << 10;
constexpr int64_t kMaxAllProbeBytes = 1 << 20;
constexpr int kMaxProbesAtOnce = 16;

HttpResponse Text(std::string body, int code = 200) {
  return {.code = code, .type = kPlainText, .body = std::move(body)};
}

HttpHandling GrpcAlone(const std::shared_ptr<HttpRequest>&) {
  return HttpHandling::Answer(Text("only gRPC is served here: the Content-Type must be application/grpc\n", 415));
}

class RpcServer : public RpcFront {
 public:
  RpcServer(const HttpServerOptions& http, bool takes_gzip, const Parts& parts, HttpHandler plain)
      : parts_{.service = parts.service,
               .registry = parts.registry,
               .identity = parts.identity,
               .health = parts.health},
        grpc_({.max_message_bytes = http.max_body_bytes,
               .received = http.received,
               .takes_gzip = takes_gzip,
               .body_threads = std::max(1, http.loops)},
              parts.service.clock()),
        plain_(plain == nullptr ? GrpcAlone : std::move(plain)) {}

  ~RpcServer() override { Shutdown(absl::ZeroDuration()); }

  void AddCallers() {
    AddClassifierCalls(grpc_, parts_);
    AddRegistryCalls(grpc_, parts_);
    AddHealthCalls(grpc_, parts_);
    AddOipCalls(grpc_, parts_);
    if (!parts_.identity.enabled()) AddReflectionCalls(grpc_, parts_);
  }
  void AddProbes() { AddHealthCalls(grpc_, parts_); }

  absl::Status Listen(HttpServerOptions http) {
    http.on_thread = WithCrashStack;
    RETURN_IF_ERROR(grpc_.Start());
    RETURN_IF_ERROR(grpc_.StartDeadlines());
    RETURN_IF_ERROR(parts_.workers.Start());
    ASSIGN_OR_RETURN(http_, HttpServer::Start(http, [this](const std::shared_ptr<HttpRequest>& request) {
                       return grpc_.Takes(*request) ? grpc_.Begin(request) : plain_(request);
                     }));
    return absl::OkStatus();
  }

  const std::string& address() const override { return http_->address(); }
  const std::string& socket_address() const override { return http_->socket_address(); }
  int64_t open_connections() const override { return http_->connections(); }
  int64_t open_streams() const override { return static_cast<int64_t>(parts_.streams.open() + parts_.watches.open()); }
  int64_t unsent_bytes() const override { return http_->unsent_bytes(); }
  std::vector<HttpConnectionStatus> Describe(size_t most) const override { return http_->Describe(most); }
  void StartLeaving() override { http_->StartLeaving(); }
  void CloseStreams() override { parts_.streams.CloseAll(); }

  void Shutdown(absl::Duration grace) override {
    if (http_ == nullptr) return;
    CloseStreams();
    parts_.watches.CloseAll();
    http_->Shutdown(grace);
  }

 private:
  CallParts parts_;
  GrpcServer grpc_;  // its destructor waits for the calls, which use parts_
  const HttpHandler plain_;
  std::unique_ptr<HttpServer> http_;  // null before Listen
};

absl::StatusOr<std::unique_ptr<RpcFront>> Listening(std::unique_ptr<RpcServer> front, HttpServerOptions http) {
  RETURN_IF_ERROR(front->Listen(std::move(http)));
  return front;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcFront>> RpcFront::Start(HttpServerOptions http, const Parts& parts,
                                                          HttpHandler plain) {
  auto front = std::make_unique<RpcServer>(http, true, parts, std::move(plain));
  front->AddCallers();
  return Listening(std::move(front), std::move(http));
}

absl::StatusOr<std::unique_ptr<RpcFront>> RpcFront::StartProbes(const std::string& listen, const Parts& parts,
                                                                std::function<std::string()> not_ready,
                                                                HttpObserver& observer) {
  HttpServerOptions http =
      ToHttpServerOptions({.max_message_bytes = kMaxProbeBytes, .max_concurrent_streams = kMaxProbesAtOnce});
  http.listen = listen;
  http.purpose = "--health-listen";
  http.threads = 2;
  http.max_connections = kOperatorConnections;
  http.received = std::make_shared<ByteBudget>(kMaxAllProbeBytes);
  http.max_unsent_bytes = kMaxAllProbeBytes;
  http.observer = &observer;
  const auto plain = [not_ready = std::move(not_ready)](const std::shared_ptr<HttpRequest>& request) {
    const std::string& path = request->path();
    if (request->method() != "GET" && request->method() != "HEAD") {
      return HttpHandling::Answer(Text("HTTP probes must use GET\n", 405));
    }
    if (path == "/healthz") return HttpHandling::Answer(Text("ok\n"));
    if (path != "/readyz") return HttpHandling::Answer(Text("no such page; there are /healthz and /readyz\n", 404));
    return HttpHandling::Make([not_ready] {
      const std::string reason = not_ready();
      return reason.empty() ? Text("ready\n") : Text(reason + "\n", 503);
    });
  };
  auto front = std::make_unique<RpcServer>(http, false, parts, plain);
  front->AddProbes();
  return Listening(std::move(front), std::move(http));
}

}  // namespace vitrine
