// SPDX-License-Identifier: Apache-2.0
#include "client/lib/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "client/lib/client.h"
#include "client/lib/status.h"

namespace vitrine {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);

absl::Status Refused(int code, float retry_after) {
  v1::StreamError error;
  error.set_code(code);
  error.set_message("full");
  error.set_retry_after(retry_after);
  return FromStreamError(error);
}

TEST(RetryDelay, DoublesWithJitterUpToTheMaximum) {
  const RetryOptions options{
      .max_attempts = 20, .initial_backoff = absl::Milliseconds(100), .max_backoff = absl::Seconds(1)};
  const absl::Status down = absl::UnavailableError("down");
  EXPECT_EQ(RetryDelay(down, 1, kLong, 0.0, options), absl::Milliseconds(50));
  EXPECT_EQ(RetryDelay(down, 1, kLong, 1.0, options), absl::Milliseconds(100));
  EXPECT_EQ(RetryDelay(down, 3, kLong, 1.0, options), absl::Milliseconds(400));
  EXPECT_EQ(RetryDelay(down, 15, kLong, 1.0, options), absl::Seconds(1));
}

TEST(RetryDelay, ExistsOnlyForTemporaryErrors) {
  const RetryOptions options;
  EXPECT_EQ(RetryDelay(absl::OkStatus(), 1, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(absl::InvalidArgumentError("bad"), 1, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(absl::DeadlineExceededError("late"), 1, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(absl::InternalError("defect"), 1, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(absl::ResourceExhaustedError("message too large"), 1, kLong, 0.5, options), std::nullopt)
      << "an error without RetryInfo is not temporary";
  EXPECT_NE(RetryDelay(Refused(8, 0.1f), 1, kLong, 0.5, options), std::nullopt);
  EXPECT_NE(RetryDelay(absl::UnavailableError("draining"), 1, kLong, 0.5, options), std::nullopt);
}

TEST(RetryDelay, TheServersDelayIsALowerBound) {
  const RetryOptions options;
  EXPECT_EQ(RetryDelay(Refused(8, 2), 1, kLong, 0.0, options), absl::Seconds(2));
  EXPECT_EQ(RetryDelay(Refused(8, 2), 1, kLong, 1.0, options), absl::Seconds(2.4));
  EXPECT_EQ(RetryDelay(Refused(8, 0.001f), 3, kLong, 1.0, options), absl::Milliseconds(400))
      << "the backoff must also be a lower bound";
}

TEST(RetryDelay, EndsWithTheAttemptsAndTheTime) {
  const RetryOptions options{.max_attempts = 3};
  const absl::Status down = absl::UnavailableError("down");
  EXPECT_NE(RetryDelay(down, 2, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(down, 3, kLong, 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(down, 1, absl::Milliseconds(75), 0.5, options), std::nullopt);
  EXPECT_EQ(RetryDelay(Refused(8, 30), 1, absl::Seconds(10), 0.5, options), std::nullopt);
}

TEST(RetryOptions, NamesTheInvalidField) {
  EXPECT_THAT(RetryOptions{.max_attempts = 0}.Validate().ToString(), testing::HasSubstr("max_attempts is 0"));
  EXPECT_THAT(RetryOptions{.initial_backoff = absl::Seconds(9)}.Validate().ToString(), testing::HasSubstr("9s"));
  EXPECT_TRUE(RetryOptions().Validate().ok());
}

TEST(RetryOptions, AreValidUpToTheirBounds) {
  for (const int attempts : {1, 20}) EXPECT_TRUE(RetryOptions{.max_attempts = attempts}.Validate().ok()) << attempts;
  EXPECT_FALSE(RetryOptions{.max_attempts = 21}.Validate().ok());
  const auto waits = [](absl::Duration first, absl::Duration most) {
    return RetryOptions{.initial_backoff = first, .max_backoff = most}.Validate().ok();
  };
  EXPECT_TRUE(waits(absl::Nanoseconds(1), absl::Nanoseconds(1)));
  EXPECT_FALSE(waits(absl::ZeroDuration(), absl::Seconds(1)));
  EXPECT_FALSE(waits(absl::Nanoseconds(2), absl::Nanoseconds(1)));
}

TEST(FromStreamError, KnowsEveryCode) {
  for (int code = 1; code <= 16; ++code) EXPECT_EQ(static_cast<int>(Refused(code, 0).code()), code);
  for (const int code : {-1, 17}) EXPECT_EQ(Refused(code, 0).code(), absl::StatusCode::kUnknown) << code;
  EXPECT_EQ(ServerRetryDelay(Refused(8, -1)), std::nullopt);
  EXPECT_EQ(ServerRetryDelay(Refused(8, std::numeric_limits<float>::infinity())), std::nullopt);
}

TEST(FromStreamError, KeepsCodeMessageAndDelay) {
  const absl::Status status = Refused(8, 1.25f);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(ServerRetryDelay(status), absl::Seconds(1.25));
  EXPECT_EQ(ServerRetryDelay(Refused(8, 0)), std::nullopt);
  EXPECT_EQ(Refused(0, 0).code(), absl::StatusCode::kUnknown) << "an error with code OK must not count as success";
  EXPECT_EQ(Refused(99, 0).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace vitrine
