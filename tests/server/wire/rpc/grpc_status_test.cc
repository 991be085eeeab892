// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(ToGrpcStatus, HasCodeAndMessage) {
  const GrpcStatus status = ToGrpcStatus(absl::InvalidArgumentError("top_k is 0"));
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(status.message, "top_k is 0");
  EXPECT_TRUE(status.details.empty());
  EXPECT_EQ(ToGrpcStatus(absl::OkStatus()).code, 0);
}

TEST(ToGrpcStatus, HidesMessagesOfInternalErrors) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kInternal, absl::StatusCode::kUnknown, absl::StatusCode::kDataLoss}) {
    const absl::Status defect(code, "/srv/models/secret.bin: assertion at 0x7ffe");
    EXPECT_THAT(ToGrpcStatus(defect).message, Not(HasSubstr("secret")));
    EXPECT_THAT(ToStreamError(defect).message(), Not(HasSubstr("secret")));
    EXPECT_EQ(ToGrpcStatus(defect).code, static_cast<int>(code));
  }
}

TEST(ToGrpcStatus, HasTheRetryTime) {
  absl::Status full = ShedError(ShedReason::kRequests, "the queue is full", absl::Milliseconds(1250));
  const GrpcStatus status = ToGrpcStatus(full);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.details));
  EXPECT_EQ(details.code(), 8);
  EXPECT_EQ(details.message(), "the queue is full; try again in 1.25s");
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
  EXPECT_FLOAT_EQ(ToStreamError(full).retry_after(), 1.25f);
}

TEST(GrpcTrailers, FollowTheProtocol) {
  EXPECT_THAT(GrpcTrailers(absl::OkStatus()), ElementsAre(Pair("grpc-status", "0")));
  EXPECT_THAT(GrpcTrailers(absl::NotFoundError("no model \"ä\"")),
              ElementsAre(Pair("grpc-status", "5"), Pair("grpc-message", "no model \"%C3%A4\"")));
  EXPECT_THAT(GrpcTrailers(absl::UnimplementedError("")), ElementsAre(Pair("grpc-status", "12")));
  const HttpHeaders shed = GrpcTrailers(ShedError(ShedReason::kRequests, "full", absl::Seconds(1)));
  ASSERT_EQ(shed.size(), 3u);
  EXPECT_EQ(shed[2].first, "grpc-status-details-bin");
  EXPECT_THAT(shed[2].second, Not(HasSubstr("=")));
  std::string details;
  ASSERT_TRUE(absl::Base64Unescape(shed[2].second, &details));
  google::rpc::Status status;
  EXPECT_TRUE(status.ParseFromString(details));
  EXPECT_EQ(status.code(), 8);
}

TEST(GrpcTrailers, ReportProtocolErrors) {
  EXPECT_THAT(GrpcTrailers(GrpcProtocolError("two flags")),
              ElementsAre(Pair("grpc-status", "13"), Pair("grpc-message", "two flags")));
}

}  // namespace
}  // namespace vitrine
