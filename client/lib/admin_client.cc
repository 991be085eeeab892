// SPDX-License-Identifier: Apache-2.0
#include "client/lib/admin_client.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/lib/channel.h"
#include "client/lib/servers.h"
#include "client/lib/status.h"
#include "common/status_macros.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine {

struct AdminClient::Connection {
  ClientOptions options;
  std::shared_ptr<Servers> servers;
};

namespace {

using Stub = v1::Admin::Stub;

// Calls the method of the stub that makes the change.
struct Sender {
  Stub& stub;
  grpc::ClientContext& context;
  v1::ServingChange& answer;

  grpc::Status operator()(const v1::LoadModelRequest& request) { return stub.LoadModel(&context, request, &answer); }
  grpc::Status operator()(const v1::UnloadModelRequest& request) {
    return stub.UnloadModel(&context, request, &answer);
  }
  grpc::Status operator()(const v1::RollbackModelRequest& request) {
    return stub.RollbackModel(&context, request, &answer);
  }
  grpc::Status operator()(const v1::SetVersionPolicyRequest& request) {
    return stub.SetVersionPolicy(&context, request, &answer);
  }
  grpc::Status operator()(const v1::SetTrafficRequest& request) { return stub.SetTraffic(&context, request, &answer); }
  grpc::Status operator()(const v1::SetLabelRequest& request) { return stub.SetLabel(&context, request, &answer); }
  grpc::Status operator()(const v1::ClearLabelRequest& request) { return stub.ClearLabel(&context, request, &answer); }
  grpc::Status operator()(const v1::ResetServingRequest& request) {
    return stub.ResetServing(&context, request, &answer);
  }
};

// Makes a call. Repeats it as long as the server rejects the token and the token file then has another token.
template <typename Method>
absl::Status Call(const ClientOptions& options, Servers& servers, const Method& method) {
  const absl::Time end = absl::Now() + options.deadline;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(end));
    const std::string token = servers.Token();
    const auto stub = v1::Admin::NewStub(servers.channel());
    const absl::Status status = FromGrpc(method(*stub, context));
    const absl::Status followed = servers.Follow(status, token);
    if (followed.code() == status.code()) return status;
  }
}

// Replaces UNIMPLEMENTED by an error that says which listener has the Admin service.
absl::Status WhereTheServiceIs(const absl::Status& status, const ClientOptions& options) {
  if (!absl::IsUnimplemented(status)) return status;
  return absl::UnimplementedError(absl::StrCat("there is no Admin service at ", options.address,
                                               "; it is on another port of the server: give the address of "
                                               "vitrine-server --admin"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Connect(const ClientOptions& options) {
  RETURN_IF_ERROR(options.Validate());
  auto connection = std::make_unique<Connection>();
  connection->options = options;
  ASSIGN_OR_RETURN(connection->servers, Servers::Open(options));
  RETURN_IF_ERROR(WaitUntilConnected(connection->servers->channel(), options));
  return std::unique_ptr<AdminClient>(new AdminClient(std::move(connection)));
}

AdminClient::AdminClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
AdminClient::~AdminClient() = default;

absl::StatusOr<v1::ServingChange> AdminClient::Make(const AdminChange& change) {
  v1::ServingChange answer;
  const absl::Status status =
      Call(connection_->options, *connection_->servers, [&](Stub& stub, grpc::ClientContext& context) {
        return std::visit(Sender{stub, context, answer}, change);
      });
  if (status.ok()) return answer;
  if (!absl::IsDeadlineExceeded(status)) return WhereTheServiceIs(status, connection_->options);
  return absl::DeadlineExceededError(absl::StrCat("the server did not finish the change within ",
                                                  absl::FormatDuration(connection_->options.deadline),
                                                  "; it may still finish: see vitrine admin serving"));
}

absl::StatusOr<v1::ServingStatus> AdminClient::GetServing(const v1::GetServingRequest& request) {
  v1::ServingStatus answer;
  const absl::Status status =
      Call(connection_->options, *connection_->servers,
           [&](Stub& stub, grpc::ClientContext& context) { return stub.GetServing(&context, request, &answer); });
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer within ", absl::FormatDuration(connection_->options.deadline)));
  }
  RETURN_IF_ERROR(WhereTheServiceIs(status, connection_->options));
  return answer;
}

}  // namespace vitrine
