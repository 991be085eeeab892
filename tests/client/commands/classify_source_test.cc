// SPDX-License-Identifier: Apache-2.0
// Tests ClassifyMany with a slow source, and with callers that stop.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "absl/time/clock.h"
#include "client/lib/client.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

constexpr int kInFlight = 8, kWindow = 4 * kInFlight;

// Waits up to ten seconds until `what` returns true. Returns its last result.
bool Eventually(const std::function<bool()>& what) {
  for (const absl::Time end = absl::Now() + absl::Seconds(10); absl::Now() < end;) {
    if (what()) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return what();
}

// Answers each request at once and counts the answers.
SmallServer::Methods Counting(std::atomic<int>* answered) {
  return {.stream = [answered](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      stream->Write(StreamAnswerTo(request));
      ++*answered;
    }
    return grpc::Status::OK;
  }};
}

TEST(SlowSource, RequestsAreSentAndDeliveredWhileTheSourceIsSlow) {
  std::atomic<int> answered = 0;
  const SmallServer server(Counting(&answered));
  int taken = 0, delivered = 0;
  // Waits until the server has answered the previous request, then returns the next request. The source ends once the
  // client has delivered a result.
  const RequestSource next = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (delivered > 0) return std::nullopt;
    if (!Eventually([&] { return answered == taken; })) {
      ADD_FAILURE() << "request " << taken - 1 << " was not sent";
      return std::nullopt;
    }
    return RequestWith(std::to_string(taken++));
  };
  const absl::Status status =
      ConnectTo(server, absl::Seconds(10), kInFlight)->ClassifyMany(next, [&](size_t, const auto& answer) {
        EXPECT_TRUE(answer.ok()) << answer.status();
        ++delivered;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(delivered, taken);
  EXPECT_LT(taken, kWindow) << "the first result was delivered only when the window was full";
}

TEST(SlowSource, TheTimeOfTheSourceIsNotPartOfTheLatency) {
  constexpr absl::Duration kThinks = absl::Seconds(1);
  std::atomic<int> answered = 0;
  const SmallServer server(Counting(&answered));
  int taken = 0;
  absl::Duration latency = absl::InfiniteDuration();
  const RequestSource next = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (taken == 0) return RequestWith(std::to_string(taken++));
    EXPECT_TRUE(Eventually([&] { return answered == 1; }));
    absl::SleepFor(kThinks);
    return std::nullopt;
  };
  const absl::Status status = ConnectTo(server)->ClassifyTraced(next, [&](TracedResult traced) {
    EXPECT_TRUE(traced.result.ok()) << traced.result.status();
    latency = traced.latency;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LT(latency, kThinks);
}

TEST(Stop, AwaitsSentRequestsAndDropsTheOthers) {
  std::atomic<int> received = 0;
  std::atomic<bool> told = false;
  const SmallServer server({.stream = [&](StreamOfServer* stream, auto*) {
    std::vector<v1::ClassifyRequest> held;
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      held.push_back(request);
      if (++received < kInFlight) continue;
      // The server does not answer until the client's stop callback returns true.
      EXPECT_TRUE(Eventually([&] { return told.load(); }));
      for (const auto& each : held) stream->Write(StreamAnswerTo(each));
      held.clear();
    }
    return grpc::Status::OK;
  }});
  int taken = 0, asked = 0;
  std::vector<TracedResult> results;
  const absl::Status status = ConnectTo(server, absl::Seconds(30), kInFlight)
                                  ->ClassifyTraced(
                                      [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
                                        EXPECT_FALSE(told) << "a request was taken after the stop";
                                        return RequestWith(std::to_string(taken++));
                                      },
                                      [&](TracedResult traced) { results.push_back(std::move(traced)); }, nullptr,
                                      [&] {
                                        // The client polls this callback repeatedly while no answer arrives.
                                        if (received == kInFlight && taken == kWindow && ++asked > 3) told = true;
                                        return told.load();
                                      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(received, kInFlight);
  ASSERT_EQ(results.size(), static_cast<size_t>(kWindow));
  for (int i = 0; i < kWindow; ++i) {
    const TracedResult& traced = results[static_cast<size_t>(i)];
    EXPECT_EQ(traced.result.status().code(), i < kInFlight ? absl::StatusCode::kOk : absl::StatusCode::kCancelled) << i;
    EXPECT_EQ(traced.attempts, i < kInFlight ? 1 : 0) << i;
  }
}

}  // namespace
}  // namespace vitrine
