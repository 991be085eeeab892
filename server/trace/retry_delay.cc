// SPDX-License-Identifier: Apache-2.0
#include "server/trace/retry_delay.h"

#include <algorithm>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace vitrine {
namespace {

constexpr absl::Duration kFirstDelay = absl::Milliseconds(500);
constexpr absl::Duration kLongestDelay = absl::Seconds(30);

// What a collector says about when to come back.
std::optional<absl::Duration> SaidDelay(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& detail : details.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    return absl::Seconds(info.retry_delay().seconds()) + absl::Nanoseconds(info.retry_delay().nanos());
  }
  return std::nullopt;
}

bool IsRetryable(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<absl::Duration> RetryDelay(const grpc::Status& status, int sends) {
  if (sends >= kMostSends) return std::nullopt;
  const std::optional<absl::Duration> said = SaidDelay(status);
  const bool may_come_back = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && said.has_value();
  if (!IsRetryable(status.error_code()) && !may_come_back) return std::nullopt;
  if (said.has_value()) return std::clamp(*said, absl::ZeroDuration(), kLongestDelay);
  return kFirstDelay * (1 << (sends - 1));
}

}  // namespace vitrine
