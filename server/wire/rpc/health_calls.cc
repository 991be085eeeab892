// SPDX-License-Identifier: Apache-2.0
// Calls of the standard health service.
#include <functional>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/wire/rpc/health.h"
#include "server/wire/rpc/single_call.h"

namespace vitrine {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse ResponseOf(Health::Status status) {
  HealthCheckResponse response;
  response.set_status(status);
  return response;
}

absl::StatusOr<HealthCheckResponse> Check(const Health& health, const HealthCheckRequest& request) {
  RETURN_IF_ERROR(CheckNameLength("service", request.service()));
  const std::optional<Health::Status> status = health.Check(request.service());
  if (status.has_value()) return ResponseOf(*status);
  return absl::NotFoundError(
      absl::StrCat("there is no service \"", absl::CHexEscape(request.service()),
                   "\"; use \"\", the full name of a service, as vitrine.v1.Classifier, or \"model/<name>\""));
}

struct WatchHealthKind {
  static constexpr CallPlace kPlace = CallPlace::kConnection;
  using Request = HealthCheckRequest;
  using Event = HealthCheckResponse;

  static absl::Status Check(const Request& request) { return CheckNameLength("service", request.service()); }
  static uint64_t Subscribe(CallParts& parts, const Caller&, const Request& request,
                            std::function<void(const Event&)> listener) {
    return parts.health.Watch(
        request.service(), [listener = std::move(listener)](Health::Status status) { listener(ResponseOf(status)); });
  }
  static void Unsubscribe(CallParts& parts, uint64_t id) { parts.health.Unwatch(id); }
};

}  // namespace

void AddHealthCalls(GrpcServer& server, CallParts& parts) {
  AddPlainCall<HealthCheckRequest, HealthCheckResponse>(
      server, parts, "/grpc.health.v1.Health/Check", CallPlace::kConnection,
      [&health = parts.health](const Caller&, const HealthCheckRequest& request) { return Check(health, request); });
  WatchCall<WatchHealthKind>::AddTo(server, parts, "/grpc.health.v1.Health/Watch");
}

}  // namespace vitrine
