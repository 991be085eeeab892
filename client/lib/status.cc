// SPDX-License-Identifier: Apache-2.0
#include "client/lib/status.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include <cmath>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace vitrine {
namespace {

constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";

absl::StatusCode CodeOf(int code) {
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

// Returns true for the message with which listeners of --admin and --health-listen reject a call meant for --listen.
bool IsOfOtherListener(absl::string_view message) {
  return absl::ConsumePrefix(&message, "there is no method /") &&
         (absl::StartsWith(message, "vitrine.v1.Classifier/") || absl::StartsWith(message, "vitrine.v1.Registry/") ||
          absl::StartsWith(message, "grpc.health.v1.Health/"));
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(CodeOf(status.error_code()), status.error_message());
  // gRPC's message contains "Received http2 header with status" if the answer has an HTTP status and no gRPC status. An
  // error with a `passing` code keeps its message, because it may come from a proxy that cannot reach its server or
  // requires authentication.
  const bool passing =
      absl::IsUnavailable(result) || absl::IsUnauthenticated(result) || absl::IsPermissionDenied(result);
  if (absl::StrContains(status.error_message(), "Received http2 header with status") && !passing) {
    result = absl::Status(result.code(), absl::StrCat("the server there does not speak gRPC (", status.error_message(),
                                                      "); give the host:port of vitrine-server --listen, or for an "
                                                      "Admin call that of --admin"));
  }
  if (absl::IsUnimplemented(result) && IsOfOtherListener(status.error_message())) {
    result = absl::UnimplementedError(absl::StrCat(
        "the server does not have this call (", status.error_message(), "); the port there may be that of ",
        "vitrine-server --admin or --health-listen: give the host:port of --listen"));
  }
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) {
      if (detail.Is<google::rpc::RetryInfo>()) result.SetPayload(kRetryInfo, absl::Cord(detail.value()));
    }
  }
  return result;
}

absl::Status FromStreamError(const v1::StreamError& error) {
  absl::Status result(CodeOf(error.code()), error.message());
  if (error.retry_after() > 0 && std::isfinite(error.retry_after())) {
    google::rpc::RetryInfo info;
    const absl::Duration delay = absl::Seconds(error.retry_after());
    info.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
    info.mutable_retry_delay()->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(delay % absl::Seconds(1))));
    result.SetPayload(kRetryInfo, absl::Cord(info.SerializeAsString()));
  }
  return result;
}

std::optional<absl::Duration> ServerRetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryInfo);
  google::rpc::RetryInfo info;
  if (!payload.has_value() || !info.ParseFromString(std::string(*payload))) return std::nullopt;
  return absl::Seconds(info.retry_delay().seconds()) + absl::Nanoseconds(info.retry_delay().nanos());
}

}  // namespace vitrine
