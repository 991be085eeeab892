// SPDX-License-Identifier: Apache-2.0
#include "programs/server/health_check.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace vitrine {

absl::Status CheckHealth(const std::string& address, absl::Duration patience) {
  using grpc::health::v1::HealthCheckResponse;
  grpc::ChannelArguments arguments;
  // gRPC would obey $http_proxy on the loopback too.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
  HealthCheckResponse response;
  const grpc::Status status = grpc::health::v1::Health::NewStub(channel)->Check(&context, {}, &response);
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("no health listener answers at ", address, ": ", status.error_message(),
                                               "; --health-listen of the server says where it is"));
  }
  if (response.status() == HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      address, " does not serve: ", HealthCheckResponse::ServingStatus_Name(response.status()), "; /readyz says why"));
}

}  // namespace vitrine
