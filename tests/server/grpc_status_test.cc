// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include "server/process/shed.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ToGrpcStatus, CarriesCodeAndSentenceOfARefusal) {
  const grpc::Status status = ToGrpcStatus(absl::InvalidArgumentError("top_k is 0"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "top_k is 0");
  EXPECT_TRUE(status.error_details().empty());
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(ToGrpcStatus, KeepsWhatALibrarySaidToItself) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kInternal, absl::StatusCode::kUnknown, absl::StatusCode::kDataLoss}) {
    const absl::Status defect(code, "/srv/models/secret.bin: assertion at 0x7ffe");
    EXPECT_THAT(ToGrpcStatus(defect).error_message(), Not(HasSubstr("secret")));
    EXPECT_THAT(ToStreamError(defect).message(), Not(HasSubstr("secret")));
    EXPECT_EQ(static_cast<int>(ToGrpcStatus(defect).error_code()), static_cast<int>(code));
  }
}

TEST(ToGrpcStatus, TellsWhenToComeBack) {
  absl::Status full = ShedError(ShedReason::kRequests, "the queue is full", absl::Milliseconds(1250));
  const grpc::Status status = ToGrpcStatus(full);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 8);
  EXPECT_EQ(details.message(), "the queue is full; try again in 1.25s");
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
  EXPECT_FLOAT_EQ(ToStreamError(full).retry_after(), 1.25f);
}

}  // namespace
}  // namespace vitrine
