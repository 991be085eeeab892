// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_status.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/process/shed.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {
namespace {

constexpr char kForCallerUrl[] = "vitrine.for_caller";

std::string TextOf(const absl::Status& status) {
  if (IsWithheld(status.code()) && !status.GetPayload(kForCallerUrl).has_value()) {
    return "the server failed on this request; its log says more";
  }
  return std::string(status.message());
}

}  // namespace

bool IsWithheld(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

absl::Status GrpcProtocolError(std::string_view sentence) {
  absl::Status status = absl::InternalError(absl::string_view(sentence.data(), sentence.size()));
  status.SetPayload(kForCallerUrl, absl::Cord());
  return status;
}

GrpcStatus ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return {};
  GrpcStatus answer = {.code = status.raw_code(), .message = TextOf(status)};
  const std::optional<absl::Duration> retry_after = RetryAfter(status);
  if (!retry_after.has_value()) return answer;

  google::rpc::RetryInfo retry;
  absl::Duration rest;
  retry.mutable_retry_delay()->set_seconds(absl::IDivDuration(*retry_after, absl::Seconds(1), &rest));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  google::rpc::Status details;
  details.set_code(answer.code);
  details.set_message(answer.message);
  details.add_details()->PackFrom(retry);
  answer.details = details.SerializeAsString();
  return answer;
}

v1::StreamError ToStreamError(const absl::Status& status) {
  v1::StreamError error;
  error.set_code(status.raw_code());
  error.set_message(TextOf(status));
  error.set_retry_after(static_cast<float>(absl::ToDoubleSeconds(RetryAfter(status).value_or(absl::ZeroDuration()))));
  return error;
}

HttpHeaders GrpcTrailers(const absl::Status& status) {
  if (status.ok()) return {{"grpc-status", "0"}};
  const GrpcStatus answer = ToGrpcStatus(status);
  HttpHeaders trailers = {{"grpc-status", absl::StrCat(answer.code)}};
  if (!answer.message.empty()) trailers.emplace_back("grpc-message", PercentEncoded(answer.message));
  if (!answer.details.empty()) trailers.emplace_back("grpc-status-details-bin", BinaryValue(answer.details));
  return trailers;
}

}  // namespace vitrine
