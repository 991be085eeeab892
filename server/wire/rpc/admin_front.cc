// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/admin_front.h"

#include <google/protobuf/descriptor.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "inference/grpc_service.pb.h"
#include "server/identity/audit_log.h"
#include "server/process/clock.h"
#include "server/process/crash_stack.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/grpc_wire.h"
#include "server/wire/rpc/single_call.h"

namespace vitrine {
namespace {

// Limits of the Admin listener. They are low, because its requests contain only names, numbers and short texts.
constexpr int64_t kMaxMessageBytes = 1 << 20;
constexpr int64_t kMaxReceivedBytes = 16 << 20;
constexpr int64_t kMaxUnsentBytes = int64_t{128} << 20;
constexpr int kMaxConcurrentCalls = 32;
// Number of worker threads. There are several, so that while one call waits for a model, another call can undo the
// change that the first call made.
constexpr int kThreads = 8;
constexpr size_t kMaxWaitingCalls = 256;

// Removes from an answer the models that the caller may not use. The answer to a request that names no model has all
// models.
void KeepVisible(const Caller& caller, v1::ServingStatus& status) {
  auto* const models = status.mutable_models();
  for (int i = models->size() - 1; i >= 0; --i) {
    if (!caller.MayUse(models->Get(i).model())) models->DeleteSubrange(i, 1);
  }
}
void KeepVisible(const Caller&, v1::ServingChange&) {}

// The service that answers the calls, and state that the calls share. Must outlive the calls.
struct AdminParts {
  AdminService& service;
  const Identity& identity;
  std::unique_ptr<AuditLog> audit;
  Metrics& metrics;
  Workers workers{{.name = "admin-calls", .threads = kThreads, .most = kMaxWaitingCalls, .on_thread = WithCrashStack}};
};

// Returns true if the peer of the unix socket is this server's user or root.
bool IsTrusted(const HttpPeer& peer) {
  return peer.uid.has_value() && (*peer.uid == geteuid() || *peer.uid == 0);
}

// Returns the request for AdminService: `request` itself, or its translation from another protocol.
template <typename Request>
const Request& ToAdminRequest(const Request& request) {
  return request;
}

// Translate the Open Inference Protocol's requests to load and unload a model. The clients of this protocol always send
// the parameter unload_dependents. It is ignored, because no model depends on another model.
v1::LoadModelRequest ToAdminRequest(const inference::RepositoryModelLoadRequest& request) {
  v1::LoadModelRequest asked;
  asked.set_model(request.model_name());
  return asked;
}
v1::UnloadModelRequest ToAdminRequest(const inference::RepositoryModelUnloadRequest& request) {
  v1::UnloadModelRequest asked;
  asked.set_model(request.model_name());
  return asked;
}

template <typename Request>
absl::Status Check(const Request&) {
  return absl::OkStatus();
}
absl::Status Check(const inference::RepositoryModelLoadRequest& request) {
  if (request.parameters().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "models are loaded from the repository as they are; a load accepts no configuration and no files");
}

// A call that passes its request (see ToAdminRequest) to `Act`. Every call that reaches a worker is checked for
// permission and written to the audit log, even if the client has disconnected.
template <typename Request, typename Response, auto Act>
class AdminCall final : public SingleCall {
 public:
  AdminCall(AdminParts& parts, RpcName rpc, GrpcOpening opening)
      : SingleCall(std::move(opening), kMaxMessageBytes), parts_(parts), rpc_(rpc) {}

  static void AddTo(GrpcServer& server, AdminParts& parts, RpcName rpc) {
    server.Add(rpc.method(), [&parts, rpc](GrpcOpening opening) {
      return std::make_shared<AdminCall>(parts, rpc, std::move(opening));
    });
  }

 private:
  using AdminRequest = std::decay_t<decltype(ToAdminRequest(Request()))>;
  using Answer = typename std::invoke_result_t<decltype(Act), AdminService&, const AdminRequest&>::value_type;

  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    const absl::Status taken =
        RunOn(parts_.workers, network(), [this, message = std::move(message)] { Respond(message); });
    if (!taken.ok()) Finish(taken);
  }

  // Authorizes and executes the call, and writes it to the audit log.
  void Respond(const absl::StatusOr<MessageBytes>& message) {
    const absl::Time start = SteadyClock().Now();
    Request sent;
    const absl::Status parsed = message.ok() ? ParseMessage(**message, sent) : message.status();
    const AdminRequest& asked = ToAdminRequest(sent);
    Credentials credentials = CredentialsOf(request());
    credentials.uid = request().peer->uid;
    credentials.on_admin_listener = true;
    const absl::StatusOr<Caller> caller = parts_.identity.Authorize(rpc_, credentials);
    AuditRecord record = {.caller = CallerOf(caller).name,
                          .peer = request().peer->address,
                          .method = std::string(rpc_.method()),
                          .arguments = asked};
    // A change is also written to the audit log before it begins, so that the log has it even if the process ends
    // during the change.
    if (caller.ok() && parsed.ok() && std::is_same_v<Answer, v1::ServingChange>) parts_.audit->Write(record);
    Response response;
    const absl::Status status = !caller.ok()   ? caller.status()
                                : !parsed.ok() ? parsed
                                               : Do(*caller, sent, asked, response);
    record.outcome = status;
    record.took = SteadyClock().Now() - start;
    parts_.audit->Write(record);
    const std::string_view name = rpc_.method();
    parts_.metrics.CountAdminAction(name.substr(name.rfind('/') + 1), status.code());
    parts_.metrics.server().CountAuthorization(caller.status().code());
    status.ok() ? FinishWith(GrpcFrame(response)) : Finish(status);
  }

  absl::Status Do(const Caller& caller, const Request& sent, const AdminRequest& asked, Response& response) {
    if (!asked.model().empty()) RETURN_IF_ERROR(CheckModel(caller, asked.model()));
    RETURN_IF_ERROR(Check(sent));
    ASSIGN_OR_RETURN(Answer answer, std::invoke(Act, parts_.service, asked));
    KeepVisible(caller, answer);
    if constexpr (std::is_same_v<Answer, Response>) response = std::move(answer);
    return absl::OkStatus();
  }

  AdminParts& parts_;
  const RpcName rpc_;
};

void AddAdminCalls(GrpcServer& server, AdminParts& parts) {
#define VITRINE_ADMIN(METHOD, RESPONSE)                                                     \
  AdminCall<v1::METHOD##Request, v1::RESPONSE, &AdminService::METHOD>::AddTo(server, parts, \
                                                                             "/vitrine.v1.Admin/" #METHOD)
  VITRINE_ADMIN(LoadModel, ServingChange);
  VITRINE_ADMIN(UnloadModel, ServingChange);
  VITRINE_ADMIN(RollbackModel, ServingChange);
  VITRINE_ADMIN(SetVersionPolicy, ServingChange);
  VITRINE_ADMIN(SetTraffic, ServingChange);
  VITRINE_ADMIN(SetLabel, ServingChange);
  VITRINE_ADMIN(ClearLabel, ServingChange);
  VITRINE_ADMIN(ResetServing, ServingChange);
  VITRINE_ADMIN(GetServing, ServingStatus);
#undef VITRINE_ADMIN
#define VITRINE_OIP_ADMIN(METHOD, ACT)                                                           \
  AdminCall<inference::METHOD##Request, inference::METHOD##Response, &AdminService::ACT>::AddTo( \
      server, parts, "/inference.GRPCInferenceService/" #METHOD)
  VITRINE_OIP_ADMIN(RepositoryModelLoad, LoadModel);
  VITRINE_OIP_ADMIN(RepositoryModelUnload, UnloadModel);
#undef VITRINE_OIP_ADMIN
}

class AdminServer : public AdminFront {
 public:
  AdminServer(AdminService& service, const Identity& identity, std::unique_ptr<AuditLog> audit, Metrics& metrics)
      : parts_{.service = service, .identity = identity, .audit = std::move(audit), .metrics = metrics},
        grpc_({.max_message_bytes = kMaxMessageBytes,
               .received = received_,
               .takes_gzip = false,
               .unknown_hint = "; calls of clients, such as RepositoryIndex, are answered on --listen"},
              SteadyClock()) {
    const google::protobuf::ServiceDescriptor* const methods =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("vitrine.v1.Admin");
    for (int i = 0; methods != nullptr && i < methods->method_count(); ++i) {
      metrics.DeclareAdminAction(methods->method(i)->name());
    }
    AddAdminCalls(grpc_, parts_);
  }

  absl::Status Listen(const std::string& address, HttpServerOptions http) {
    RETURN_IF_ERROR(parts_.workers.Start());
    RETURN_IF_ERROR(grpc_.StartDeadlines());
    const bool is_unix = absl::StartsWith(address, "unix:");
    (is_unix ? http.socket : http.listen) = address;
    http.purpose = "--admin";
    http.threads = 2;
    http.max_body_bytes = kMaxMessageBytes;
    http.max_concurrent_streams = kMaxConcurrentCalls;
    http.max_connections = kOperatorConnections;
    http.received = received_;
    http.max_unsent_bytes = kMaxUnsentBytes;
    if (is_unix) http.tls = nullptr;  // needs no threads for handshakes
    ASSIGN_OR_RETURN(http_, HttpServer::Start(http, [this, is_unix](const std::shared_ptr<HttpRequest>& request) {
                       return Begin(request, is_unix);
                     }));
    address_ = is_unix ? http_->socket_address() : http_->address();
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }
  void Shutdown(absl::Duration grace) override { http_->Shutdown(grace); }

 private:
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request, bool is_unix) {
    // The file mode of the socket excludes other users, but this check also works if somebody has changed the mode.
    if (is_unix && !IsTrusted(*request->peer)) {
      return HttpHandling::Answer(
          {.code = 403, .type = kPlainText, .body = "only this server's user and root may call\n"});
    }
    if (grpc_.Takes(*request)) return grpc_.Begin(request);
    return HttpHandling::Answer(
        {.code = 415, .type = kPlainText, .body = "this is the Admin service, for gRPC only\n"});
  }

  const std::shared_ptr<ByteBudget> received_ = std::make_shared<ByteBudget>(kMaxReceivedBytes);
  AdminParts parts_;
  GrpcServer grpc_;  // its destructor waits for the calls, which the workers may still use
  std::string address_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminFront>> AdminFront::Start(const AdminOptions& options, HttpServerOptions http,
                                                              AdminService& service, const Identity& identity,
                                                              Metrics& metrics) {
  ASSIGN_OR_RETURN(std::unique_ptr<AuditLog> audit, AuditLog::Open(options.audit_log));
  auto front = std::make_unique<AdminServer>(service, identity, std::move(audit), metrics);
  RETURN_IF_ERROR(front->Listen(options.listen, std::move(http)));
  return front;
}

}  // namespace vitrine
