// SPDX-License-Identifier: Apache-2.0
// Tests rules that the scenarios in stream_events.json do not cover: limits, ids, attempts and latency.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/lib/in_flight_limit.h"
#include "client/lib/request_window.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

constexpr absl::Time kStart = absl::UnixEpoch();

class RequestWindowTest : public testing::Test {
 protected:
  RequestWindow Window(InFlightLimit* limit = nullptr) {
    return {options_, limit, [] { return 0.0; }};
  }

  ClientOptions options_{.deadline = absl::Seconds(10), .max_in_flight = 2};
};

TEST_F(RequestWindowTest, TakesUpToFourTimesTheLimitInFlight) {
  RequestWindow window = Window();
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(window.wants()) << i;
    window.Take(RequestWith("7"));
  }
  EXPECT_FALSE(window.wants());
  window.Answered(StreamAnswerTo(*window.Due(kStart)[0]), kStart);
  EXPECT_FALSE(window.wants()) << "a finished request must count until its result is delivered";
  EXPECT_TRUE(window.PopFinished().has_value());
  EXPECT_TRUE(window.wants());
  window.EndSource();
  EXPECT_FALSE(window.wants());
}

TEST_F(RequestWindowTest, TakesRequestsUpToALimitOfBytes) {
  options_.max_in_flight = 64;
  options_.max_request_bytes = 1 << 30;
  RequestWindow window = Window();
  const std::string large(32 << 20, 'x');
  for (int i = 0; i < 7; ++i) window.Take(RequestWith(large));
  EXPECT_TRUE(window.wants());
  window.Take(RequestWith(large));
  EXPECT_FALSE(window.wants()) << "the window must not take more than 256 MiB";
  window.Answered(StreamErrorTo(*window.Due(kStart)[0], grpc::StatusCode::INTERNAL, "no"), kStart);
  EXPECT_TRUE(window.wants()) << "the memory of an answered request must be free again";
}

TEST_F(RequestWindowTest, SendsARequestOfTheMaximumSize) {
  const v1::ClassifyRequest request = RequestWith("7", "mine");
  options_.max_request_bytes = static_cast<int64_t>(request.ByteSizeLong());
  RequestWindow window = Window();
  window.Take(request);
  EXPECT_EQ(window.Due(kStart).size(), 1u);
  --options_.max_request_bytes;
  window.Take(request);
  window.Take(absl::NotFoundError("no such image"));
  EXPECT_TRUE(window.Due(kStart).empty());
  EXPECT_FALSE(window.PopFinished().has_value()) << "results must be in the order of the source";
  window.Stop();
  EXPECT_FALSE(window.PopFinished().has_value()) << "after a stop, sent requests must be awaited";
}

TEST_F(RequestWindowTest, AResultHasAttemptsLatencyAndTheCallersId) {
  RequestWindow window = Window();
  window.Take(RequestWith("1", "mine"));
  window.Take(RequestWith("2", "mine"));
  auto due = window.Due(kStart);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_NE(due[0]->request_id(), due[1]->request_id());
  EXPECT_FALSE(window.idle());
  window.Answered(StreamErrorTo(*due[1], grpc::StatusCode::RESOURCE_EXHAUSTED, "full", 2), kStart + absl::Seconds(1));
  window.Answered(StreamAnswerTo(*due[0]), kStart + absl::Seconds(2));
  EXPECT_TRUE(window.idle());
  EXPECT_EQ(window.NextTimer(kStart + absl::Seconds(2)), kStart + absl::Seconds(3));
  EXPECT_TRUE(window.Due(kStart + absl::Seconds(2.9)).empty());
  const std::string first_id = due[1]->request_id();
  due = window.Due(kStart + absl::Seconds(3));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_NE(due[0]->request_id(), first_id) << "each attempt must have its own id";
  window.Answered(StreamAnswerTo(*due[0]), kStart + absl::Seconds(7));
  for (const size_t index : {0u, 1u}) {
    const auto result = window.PopFinished();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->index, index);
    ASSERT_TRUE(result->result.ok()) << result->result.status();
    EXPECT_EQ(result->result->request_id(), "mine");
    EXPECT_EQ(result->result->predictions(0).index(), static_cast<int>(index) + 1);
    EXPECT_EQ(result->attempts, static_cast<int>(index) + 1);
    EXPECT_EQ(result->latency, absl::Seconds(index == 0 ? 2 : 4)) << "the latency must be that of the last attempt";
  }
  EXPECT_TRUE(window.empty());
}

TEST_F(RequestWindowTest, AnAnswerWithAnUnknownIdEndsTheRun) {
  RequestWindow window = Window();
  window.Take(RequestWith("7"));
  v1::ClassifyStreamResponse stray = StreamAnswerTo(*window.Due(kStart)[0]);
  stray.set_request_id("9-9");
  window.Answered(stray, kStart);
  EXPECT_EQ(window.outcome(), absl::InternalError("the server answered request \"9-9\", which was not sent to it"));
  EXPECT_EQ(window.PopFinished()->result.status(), window.outcome());
  EXPECT_FALSE(window.wants());
  RequestWindow twice = Window();
  twice.Take(RequestWith("7"));
  const auto due = twice.Due(kStart);
  twice.Answered(StreamAnswerTo(*due[0]), kStart);
  EXPECT_TRUE(twice.outcome().ok());
  twice.Answered(StreamAnswerTo(*due[0]), kStart);
  EXPECT_EQ(twice.outcome().code(), absl::StatusCode::kInternal) << "a second answer is an answer to no request";
}

TEST_F(RequestWindowTest, AnEmptyAnswerFailsOnlyItsRequest) {
  RequestWindow window = Window();
  window.Take(RequestWith("7"));
  v1::ClassifyStreamResponse empty;
  empty.set_request_id(window.Due(kStart)[0]->request_id());
  window.Answered(empty, kStart);
  EXPECT_EQ(window.PopFinished()->result.status(), absl::InternalError("the server sent an empty answer"));
  EXPECT_TRUE(window.outcome().ok());
}

TEST_F(RequestWindowTest, SendsNoRequestAfterAStop) {
  RequestWindow window = Window();
  for (int i = 0; i < 3; ++i) window.Take(RequestWith("7"));
  const auto due = window.Due(kStart);
  ASSERT_EQ(due.size(), 2u);
  window.Stop();
  EXPECT_FALSE(window.wants());
  for (const auto& request : due) window.Answered(StreamAnswerTo(*request), kStart);
  EXPECT_TRUE(window.PopFinished()->result.ok());
  EXPECT_TRUE(window.PopFinished()->result.ok());
  EXPECT_EQ(window.PopFinished()->result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(window.outcome().ok());
}

TEST_F(RequestWindowTest, RespectsBothLimitsInFlight) {
  options_.max_in_flight = 8;
  InFlightLimit narrow(64, 3), wide(64, 64);
  for (InFlightLimit* limit : {&narrow, &wide}) {
    RequestWindow window = Window(limit);
    for (int i = 0; i < 10; ++i) window.Take(RequestWith("7"));
    EXPECT_EQ(window.Due(kStart).size(), limit == &narrow ? 3u : 8u);
    EXPECT_TRUE(window.Due(kStart).empty());
  }
}

// The limit on requests in flight falls only after errors that report a lack of capacity or a passed deadline. Other
// errors do not depend on the capacity.
TEST_F(RequestWindowTest, OnlyAnOverloadLowersTheLimit) {
  using enum grpc::StatusCode;
  const auto limit_after = [&](grpc::StatusCode code, float retry_after) {
    InFlightLimit limit(64, 8);
    RequestWindow window = Window(&limit);
    window.Take(RequestWith("7"));
    window.Answered(StreamErrorTo(*window.Due(kStart)[0], code, "no", retry_after), kStart + absl::Seconds(1));
    return limit.limit();
  };
  EXPECT_EQ(limit_after(DEADLINE_EXCEEDED, 0), 4);
  EXPECT_EQ(limit_after(RESOURCE_EXHAUSTED, 0.5F), 4);
  EXPECT_EQ(limit_after(RESOURCE_EXHAUSTED, 0), 8) << "without a delay, the reason may be a too large image";
  EXPECT_EQ(limit_after(UNAVAILABLE, 1), 8);
  EXPECT_EQ(limit_after(INVALID_ARGUMENT, 0), 8);
  InFlightLimit limit(64, 8);
  RequestWindow window = Window(&limit);
  window.Take(RequestWith("7"));
  window.Due(kStart);
  EXPECT_FALSE(window.Expire(kStart + absl::Seconds(9.9)));
  EXPECT_EQ(limit.limit(), 8);
  EXPECT_TRUE(window.Expire(kStart + absl::Seconds(10)));
  EXPECT_EQ(limit.limit(), 4) << "a passed deadline must lower the limit";
  EXPECT_THAT(window.PopFinished()->result.status().ToString(), HasSubstr("no answer within 10s"));
}

}  // namespace
}  // namespace vitrine
