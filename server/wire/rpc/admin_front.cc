// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/admin_front.h"

#include <grpcpp/server_context.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "inference/grpc_service.grpc.pb.h"
#include "server/identity/audit_log.h"
#include "server/process/clock.h"
#include "server/wire/rpc/call_origin.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/listener.h"
#include "server/wire/rpc/served_port.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine {
namespace {

// Names and numbers only.
TransportOptions AdminTransport() {
  TransportOptions options;
  options.max_message_bytes = 1 << 20;
  options.max_transport_bytes = 64 << 20;
  options.max_concurrent_streams = 32;
  return options;
}

// A request that names no model asks for every one, and is answered with those that the caller may see.
void KeepVisible(const Caller& caller, v1::ServingStatus& status) {
  auto* const models = status.mutable_models();
  for (int i = models->size() - 1; i >= 0; --i) {
    if (!caller.MayUse(models->Get(i).model())) models->DeleteSubrange(i, 1);
  }
}
void KeepVisible(const Caller&, v1::ServingChange&) {}

// What the methods work with. Outlives them.
struct AdminParts {
  AdminService& service;
  const Identity& identity;
  std::unique_ptr<AuditLog> audit;
  Metrics& metrics;
};

// The methods of the service, each behind the one check. Thread-safe.
class AdminRpc final : public v1::Admin::Service {
 public:
  // `uid`: of the user behind every connection of this server; nothing where that is not known.
  AdminRpc(const AdminParts& parts, std::optional<uint32_t> uid) : parts_(parts), uid_(uid) {}

// Each goes to the one of that name.
#define VITRINE_ADMIN(METHOD, RESPONSE)                                                                       \
  grpc::Status METHOD(grpc::ServerContext* context, const v1::METHOD##Request* request, v1::RESPONSE* answer) \
      override {                                                                                              \
    return Call("/vitrine.v1.Admin/" #METHOD, *context, *request, *answer, &AdminService::METHOD);            \
  }
  VITRINE_ADMIN(LoadModel, ServingChange)
  VITRINE_ADMIN(UnloadModel, ServingChange)
  VITRINE_ADMIN(RollbackModel, ServingChange)
  VITRINE_ADMIN(SetVersionPolicy, ServingChange)
  VITRINE_ADMIN(SetTraffic, ServingChange)
  VITRINE_ADMIN(SetLabel, ServingChange)
  VITRINE_ADMIN(ClearLabel, ServingChange)
  VITRINE_ADMIN(ResetServing, ServingChange)
  VITRINE_ADMIN(GetServing, ServingStatus)
#undef VITRINE_ADMIN

  // Who asks, whether they may, what comes of it, and what the audit log says of it.
  template <typename Request, typename Response, typename Method>
  grpc::Status Call(RpcName rpc, const grpc::ServerContext& context, const Request& request, Response& response,
                    Method method) {
    const absl::Time start = SteadyClock().Now();
    Credentials credentials = CredentialsOf(context);
    credentials.uid = uid_;
    credentials.on_admin_listener = true;
    const absl::StatusOr<Caller> caller = parts_.identity.Authorize(rpc, credentials);
    AuditRecord record = {.caller = CallerOf(caller).name,
                          .peer = context.peer(),
                          .method = std::string(rpc.method()),
                          .arguments = request};
    // A change leaves a trace even where the process does not live to tell what came of it.
    if (caller.ok() && std::is_same_v<Response, v1::ServingChange>) parts_.audit->Write(record);
    const absl::Status status = caller.ok() ? Do(*caller, request, response, method) : caller.status();
    record.outcome = status;
    record.took = SteadyClock().Now() - start;
    parts_.audit->Write(record);
    const std::string_view name = rpc.method();
    parts_.metrics.CountAdminAction(name.substr(name.rfind('/') + 1), status.code());
    parts_.metrics.server().CountAuthorization(caller.status().code());
    return ToGrpcStatus(status);
  }

 private:
  template <typename Request, typename Response, typename Method>
  absl::Status Do(const Caller& caller, const Request& request, Response& response, Method method) {
    if (!request.model().empty()) RETURN_IF_ERROR(CheckModel(caller, request.model()));
    ASSIGN_OR_RETURN(response, std::invoke(method, parts_.service, request));
    KeepVisible(caller, response);
    return absl::OkStatus();
  }

  const AdminParts& parts_;
  const std::optional<uint32_t> uid_;
};

// Loading and unloading as clients of the Open Inference Protocol ask for it: the same calls, by other names.
class OipAdminRpc final : public inference::GRPCInferenceService::Service {
 public:
  explicit OipAdminRpc(AdminRpc& admin) : admin_(admin) {}

  grpc::Status RepositoryModelLoad(grpc::ServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse*) override {
    v1::LoadModelRequest wanted;
    wanted.set_model(request->model_name());
    v1::ServingChange change;
    const auto load = [request](AdminService& service,
                                const v1::LoadModelRequest& load) -> absl::StatusOr<v1::ServingChange> {
      if (request->parameters().empty()) return service.LoadModel(load);
      return absl::InvalidArgumentError(
          "models are loaded from the repository as they are; a load takes no configuration and no files");
    };
    return admin_.Call("/inference.GRPCInferenceService/RepositoryModelLoad", *context, wanted, change, load);
  }
  // The parameter unload_dependents, which clients always send, has no meaning: no model depends on another.
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse*) override {
    v1::UnloadModelRequest wanted;
    wanted.set_model(request->model_name());
    v1::ServingChange change;
    return admin_.Call("/inference.GRPCInferenceService/RepositoryModelUnload", *context, wanted, change,
                       &AdminService::UnloadModel);
  }

 private:
  AdminRpc& admin_;
};

// One grpc::Server. gRPC does not tell a call which connection it came over, so that a unix socket has one for each
// user that may connect.
struct OneServer {
  OneServer(const AdminParts& parts, std::optional<uint32_t> uid) : rpc(parts, uid), oip(rpc), port(AdminTransport()) {
    port.builder().RegisterService(&rpc);
    port.builder().RegisterService(&oip);
  }
  AdminRpc rpc;
  OipAdminRpc oip;
  ServedPort port;  // gone before the service
};

class AdminServer : public AdminFront {
 public:
  explicit AdminServer(AdminParts parts) : parts_(std::move(parts)) {
    const google::protobuf::ServiceDescriptor* const methods =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("vitrine.v1.Admin");
    for (int i = 0; methods != nullptr && i < methods->method_count(); ++i) {
      parts_.metrics.DeclareAdminAction(methods->method(i)->name());
    }
  }

  ~AdminServer() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Listen(const std::string& address) {
    if (!absl::StartsWith(address, "unix:")) {
      ASSIGN_OR_RETURN(listener_, Listener::Open(address, AdminTransport().keepalive_timeout));
      OneServer& server = Add(std::nullopt);
      RETURN_IF_ERROR(server.port.Start(parts_.identity.ListenerCredentials()));
      listener_->Start([&server](int connection) { server.port.Take(connection); });
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(listener_, Listener::OpenUnix(address));
    for (const uint32_t uid : {uint32_t{geteuid()}, uint32_t{0}}) {
      if (servers_.contains(uid)) continue;
      RETURN_IF_ERROR(Add(uid).port.Start(grpc::InsecureServerCredentials()));
    }
    listener_->Start([this](int connection) { TakeFromUser(connection); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->address(); }

  void Shutdown(absl::Duration grace) override {
    if (listener_ != nullptr) listener_->Stop();
    for (const auto& [uid, server] : servers_) server->port.Shutdown(grace);
  }

 private:
  OneServer& Add(std::optional<uint32_t> uid) { return *(servers_[uid] = std::make_unique<OneServer>(parts_, uid)); }

  // The mode of the socket keeps others out already, unless somebody has changed it.
  void TakeFromUser(int connection) {
    ucred peer = {};
    socklen_t size = sizeof(peer);
    const bool known = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const auto server = known ? servers_.find(peer.uid) : servers_.end();
    if (server != servers_.end()) return server->second->port.Take(connection);
    spdlog::warn("admin: a connection of uid={} is turned away", known ? std::to_string(peer.uid) : "unknown");
    close(connection);
  }

  const AdminParts parts_;
  std::map<std::optional<uint32_t>, std::unique_ptr<OneServer>> servers_;  // constant after Listen
  std::unique_ptr<Listener> listener_;                                     // its thread uses the servers
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminFront>> AdminFront::Start(const AdminOptions& options, AdminService& service,
                                                              const Identity& identity, Metrics& metrics) {
  ASSIGN_OR_RETURN(std::unique_ptr<AuditLog> audit, AuditLog::Open(options.audit_log));
  auto front = std::make_unique<AdminServer>(AdminParts{service, identity, std::move(audit), metrics});
  const absl::Status listening = front->Listen(options.listen);
  if (!listening.ok()) return listening;
  return front;
}

}  // namespace vitrine
