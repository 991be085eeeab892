// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_status.h"

#include <optional>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {
namespace {

// Codes of absl and gRPC are the same numbers.
grpc::StatusCode CodeOf(const absl::Status& status) {
  return static_cast<grpc::StatusCode>(status.raw_code());
}

std::string TextOf(const absl::Status& status) {
  if (IsWithheld(status.code())) return "the server failed on this request; its log says more";
  return std::string(status.message());
}

}  // namespace

bool IsWithheld(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string text = TextOf(status);
  const std::optional<absl::Duration> retry_after = RetryAfter(status);
  if (!retry_after.has_value()) return grpc::Status(CodeOf(status), text);

  google::rpc::RetryInfo retry;
  absl::Duration rest;
  retry.mutable_retry_delay()->set_seconds(absl::IDivDuration(*retry_after, absl::Seconds(1), &rest));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  google::rpc::Status details;
  details.set_code(status.raw_code());
  details.set_message(text);
  details.add_details()->PackFrom(retry);
  return grpc::Status(CodeOf(status), text, details.SerializeAsString());
}

v1::StreamError ToStreamError(const absl::Status& status) {
  v1::StreamError error;
  error.set_code(status.raw_code());
  error.set_message(TextOf(status));
  error.set_retry_after(static_cast<float>(absl::ToDoubleSeconds(RetryAfter(status).value_or(absl::ZeroDuration()))));
  return error;
}

}  // namespace vitrine
