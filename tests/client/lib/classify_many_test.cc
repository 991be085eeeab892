// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/time/clock.h"
#include "client/lib/client.h"
#include "client/lib/in_flight_limit.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

// Results of RunMany.
struct Outcome {
  absl::Status status;
  std::vector<absl::Status> results;
  int taken = 0;

  int Failed() const {
    return static_cast<int>(std::ranges::count_if(results, [](const absl::Status& s) { return !s.ok(); }));
  }
};

// Runs ClassifyMany for images that encode their index. Checks that every result is delivered once, in order, and
// belongs to its request.
Outcome RunMany(Client& client, int count, const std::function<void(int)>& before_taking = {}) {
  Outcome outcome;
  const RequestSource next = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (outcome.taken == count) return std::nullopt;
    if (before_taking) before_taking(outcome.taken);
    const std::string place = std::to_string(outcome.taken++);
    return RequestWith(place, "caller's " + place);
  };
  outcome.status = client.ClassifyMany(next, [&](size_t index, absl::StatusOr<v1::ClassifyResponse> answer) {
    EXPECT_EQ(index, outcome.results.size()) << "the results are out of order";
    if (answer.ok()) {
      EXPECT_EQ(answer->predictions(0).index(), static_cast<int>(index)) << "the answer belongs to another request";
      EXPECT_EQ(answer->request_id(), "caller's " + std::to_string(index));
    }
    outcome.results.push_back(answer.status());
  });
  return outcome;
}

// Answers each request at once.
grpc::Status Echo(StreamOfServer* stream, grpc::ServerContext*) {
  v1::ClassifyRequest request;
  while (stream->Read(&request)) stream->Write(StreamAnswerTo(request));
  return grpc::Status::OK;
}

// Answers in random order, and holds back up to four requests. A request is answered at the latest after 13 newer
// requests have arrived.
grpc::Status Shuffle(StreamOfServer* stream, std::atomic<int>* overtaken) {
  std::mt19937 random(3);
  std::map<int, v1::ClassifyRequest> held;
  std::set<std::string> ids;
  v1::ClassifyRequest request;
  while (stream->Read(&request)) {
    EXPECT_TRUE(ids.insert(request.request_id()).second) << "two requests have the same id";
    const int newest = std::stoi(request.image());
    held[newest] = request;
    while (held.size() >= 5 || (newest == 499 && !held.empty())) {
      auto chosen = held.begin();
      if (newest - chosen->first <= 12) std::advance(chosen, random() % held.size());
      if (chosen != held.begin()) ++*overtaken;
      stream->Write(StreamAnswerTo(chosen->second));
      held.erase(chosen);
    }
  }
  return grpc::Status::OK;
}

TEST(ClassifyMany, DeliversAnswersInTheOrderOfRequests) {
  std::atomic<int> overtaken = 0;
  const SmallServer server({.stream = [&](StreamOfServer* stream, auto*) { return Shuffle(stream, &overtaken); }});
  const Outcome outcome = RunMany(*ConnectTo(server), 500);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.results.size(), 500u);
  EXPECT_EQ(outcome.Failed(), 0);
  EXPECT_GT(overtaken, 100);
}

TEST(ClassifyMany, LimitsTheRequestsAtTheServerAndFromTheSource) {
  // The server answers only when it has received the maximum number of requests. It must never receive more.
  constexpr int kInFlight = 6;
  std::atomic<int> answered = 0;
  const SmallServer server({.stream = [&](StreamOfServer* stream, auto*) {
    v1::ClassifyRequest request;
    std::vector<v1::ClassifyRequest> held;
    while (stream->Read(&request)) {
      held.push_back(request);
      EXPECT_LE(held.size(), static_cast<size_t>(kInFlight));
      if (held.size() < kInFlight) continue;
      for (const auto& each : held) {
        ++answered;
        stream->Write(StreamAnswerTo(each));
      }
      held.clear();
    }
    return grpc::Status::OK;
  }});
  const auto client = ConnectTo(server, absl::Seconds(10), kInFlight);
  const Outcome outcome =
      RunMany(*client, 20 * kInFlight, [&](int taken) { EXPECT_LE(taken, answered + 5 * kInFlight); });
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.Failed(), 0);
}

TEST(ClassifyMany, AnEmptySourceSucceeds) {
  const SmallServer server({.stream = Echo});
  EXPECT_TRUE(RunMany(*ConnectTo(server), 0).status.ok());
}

TEST(ClassifyMany, AnErrorInTheSourceIsDeliveredInOrder) {
  const SmallServer server({.stream = Echo});
  int taken = 0;
  std::vector<std::string> seen;
  const auto status = ConnectTo(server)->ClassifyMany(
      [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
        if (++taken > 4) return std::nullopt;
        if (taken % 2 == 0) return absl::NotFoundError("no file");
        return RequestWith(std::to_string(taken));
      },
      [&](size_t, absl::StatusOr<v1::ClassifyResponse> answer) {
        seen.push_back(answer.ok() ? answer->predictions(0).label() : std::string(answer.status().message()));
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, testing::ElementsAre("label 1", "no file", "label 3", "no file"));
}

TEST(ClassifyMany, ContinuesAfterBrokenStreams) {
  std::atomic<int> streams = 0;
  const SmallServer server({.stream = [&](StreamOfServer* stream, auto*) {
    const int answers = 3 + 7 * streams++;
    v1::ClassifyRequest request;
    for (int i = 0; i < answers; ++i) {
      if (!stream->Read(&request)) return grpc::Status::OK;
      stream->Write(StreamAnswerTo(request));
    }
    return streams % 2 == 0 ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  }});
  const Outcome outcome = RunMany(*ConnectTo(server), 100);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.results.size(), 100u);
  EXPECT_EQ(outcome.Failed(), 0);
  EXPECT_GT(streams, 3);
}

TEST(ClassifyMany, OnlyATooLargeMessageFails) {
  // gRPC ends the whole stream if a message exceeds the server's limit.
  const SmallServer server({.stream = Echo}, /*max_message_bytes=*/10000);
  int taken = 0;
  std::vector<absl::StatusCode> codes;
  const auto status = ConnectTo(server)->ClassifyMany(
      [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
        if (taken == 30) return std::nullopt;
        const std::string image = std::to_string(taken) + std::string(taken == 11 ? 20000 : 10, ' ');
        ++taken;
        return RequestWith(image);
      },
      [&](size_t index, absl::StatusOr<v1::ClassifyResponse> answer) {
        codes.push_back(answer.status().code());
        if (answer.ok()) {
          EXPECT_EQ(answer->predictions(0).index(), static_cast<int>(index));
        }
      });
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(codes.size(), 30u);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(codes[i], i == 11 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk) << i;
  }
}

TEST(ClassifyMany, RequestsToAHangingServerExpire) {
  std::atomic<int> cancelled = 0;
  const SmallServer server({.stream = [&](StreamOfServer*, grpc::ServerContext* context) {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    ++cancelled;
    return grpc::Status::CANCELLED;
  }});
  const absl::Time start = absl::Now();
  const Outcome outcome = RunMany(*ConnectTo(server, absl::Milliseconds(200), 4), 12);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.Failed(), 12);
  for (const absl::Status& status : outcome.results) EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_GE(cancelled, 2) << "the client did not cancel the calls";
}

TEST(ClassifyMany, AHangingServerEndsTheRun) {
  const SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  }});
  const Outcome outcome = RunMany(*ConnectTo(server, absl::Milliseconds(200), 4), 1000);
  EXPECT_EQ(outcome.status,
            absl::UnavailableError("the server does not answer: 3 times in a row no answer came within 200ms"));
  EXPECT_EQ(static_cast<int>(outcome.results.size()), outcome.taken)
      << "each request that was taken from the source must have a result";
  EXPECT_LT(outcome.taken, 40) << "no more requests may be taken from the source";
}

TEST(ClassifyMany, StopsWhenTheServerIsLost) {
  SmallServer server({.stream = Echo});
  const auto client = ConnectTo(server, absl::Seconds(10), 4);
  const Outcome outcome = RunMany(*client, 100000, [&](int taken) {
    if (taken == 200) server.Stop();
  });
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
  EXPECT_LT(outcome.taken, 400) << "no more requests may be taken from the source";
  EXPECT_EQ(static_cast<int>(outcome.results.size()), outcome.taken)
      << "each request that was taken from the source must have a result";
  EXPECT_GT(outcome.Failed(), 0);
}

// Ends the first `streams` streams with UNAVAILABLE, like a server that shuts down. Answers the requests on later
// streams.
SmallServer::Methods DownFor(int streams, std::atomic<int>* opened) {
  return {.stream = [streams, opened](StreamOfServer* stream, grpc::ServerContext* context) {
    v1::ClassifyRequest request;
    if (++*opened > streams) return Echo(stream, context);
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  }};
}

TEST(ClassifyMany, WaitsForAServerThatIsDownForAWhile) {
  std::atomic<int> opened = 0;
  const SmallServer server(DownFor(12, &opened));
  const Outcome outcome = RunMany(*ConnectTo(server), 100);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.results.size(), 100u);
  EXPECT_EQ(outcome.Failed(), 0);
  EXPECT_EQ(opened, 13);
}

TEST(ClassifyMany, AMissingServiceFailsEachRequest) {
  const SmallServer server({});
  const Outcome outcome = RunMany(*ConnectTo(server), 5);
  EXPECT_EQ(outcome.Failed(), 5);
  for (const absl::Status& status : outcome.results) EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

TEST(ClassifyMany, SeveralThreadsMayShareAClient) {
  const SmallServer server({.stream = Echo});
  const auto client = ConnectTo(server);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Outcome outcome = RunMany(*client, 200);
      EXPECT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(outcome.Failed(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vitrine
