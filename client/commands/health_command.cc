// SPDX-License-Identifier: Apache-2.0
#include "client/commands/health_command.h"

#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/lib/channel.h"
#include "client/lib/status.h"
#include "common/status_macros.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace vitrine {

absl::Status RunHealth(const ClientOptions& options, const std::string& service, std::ostream& out) {
  RETURN_IF_ERROR(options.Validate());
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, MakeChannel(options));
  RETURN_IF_ERROR(WaitUntilConnected(channel, options));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options.connect_timeout));
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    return absl::NotFoundError(absl::StrCat(options.address, " has no service \"", service,
                                            "\"; give model/NAME with a NAME from vitrine models"));
  }
  if (!status.ok()) return FromGrpc(status);
  const std::string state = grpc::health::v1::HealthCheckResponse::ServingStatus_Name(response.status());
  out << state << "\n";
  if (response.status() == grpc::health::v1::HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(options.address, " is not serving: ", state,
                   "; vitrine models shows the fault of a version, /readyz why the server is not ready"));
}

}  // namespace vitrine
