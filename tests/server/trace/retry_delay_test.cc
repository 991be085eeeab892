// SPDX-License-Identifier: Apache-2.0
#include "server/trace/retry_delay.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace vitrine {
namespace {

grpc::Status Failed(grpc::StatusCode code) {
  return {code, "so"};
}

grpc::Status WithDelay(grpc::StatusCode code, int64_t seconds) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  return {code, "so", details.SerializeAsString()};
}

TEST(RetryDelay, DoublesUntilItIsGivenUp) {
  const grpc::Status away = Failed(grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(RetryDelay(away, 1), absl::Milliseconds(500));
  EXPECT_EQ(RetryDelay(away, 2), absl::Seconds(1));
  EXPECT_EQ(RetryDelay(away, 4), absl::Seconds(4));
  EXPECT_EQ(RetryDelay(away, kMostSends), std::nullopt);
}

TEST(RetryDelay, OnlyForWhatMayPass) {
  using enum grpc::StatusCode;
  for (const auto code : {CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS}) {
    EXPECT_TRUE(RetryDelay(Failed(code), 1).has_value()) << code;
  }
  for (const auto code : {INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, UNIMPLEMENTED, INTERNAL, UNKNOWN}) {
    EXPECT_FALSE(RetryDelay(Failed(code), 1).has_value()) << code;
  }
}

TEST(RetryDelay, BelievesACollectorThatSaysWhen) {
  EXPECT_EQ(RetryDelay(Failed(grpc::StatusCode::RESOURCE_EXHAUSTED), 1), std::nullopt);
  EXPECT_EQ(RetryDelay(WithDelay(grpc::StatusCode::RESOURCE_EXHAUSTED, 7), 1), absl::Seconds(7));
  EXPECT_EQ(RetryDelay(WithDelay(grpc::StatusCode::UNAVAILABLE, 3), 1), absl::Seconds(3));
  EXPECT_EQ(RetryDelay(WithDelay(grpc::StatusCode::UNAVAILABLE, 86'400), 1), absl::Seconds(30)) << "not for a day";
  EXPECT_EQ(RetryDelay(WithDelay(grpc::StatusCode::INVALID_ARGUMENT, 3), 1), std::nullopt);
}

}  // namespace
}  // namespace vitrine
