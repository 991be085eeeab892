// SPDX-License-Identifier: Apache-2.0
// Tests loads over ClassifyStream with a real gRPC server in this process.
#include "client/load/load_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "client/load/load.h"
#include "tests/client/load/counted_load.h"

namespace vitrine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LoadConnections Connections(const SmallServer& server, int count) {
  ClientOptions options;
  options.address = server.address();
  auto connections = OpenConnections(options, count);
  EXPECT_TRUE(connections.ok()) << connections.status();
  return *std::move(connections);
}

LoadSettings Streamed(LoadSettings settings) {
  settings.mode = LoadMode::kStream;
  return settings;
}

LoadSettings ClosedLoop(int concurrency, absl::Duration duration) {
  LoadSettings settings;
  settings.concurrency = concurrency;
  settings.warm_up = absl::ZeroDuration();
  settings.duration = duration;
  return settings;
}

v1::ClassifyStreamResponse Answered(const v1::ClassifyRequest& request) {
  v1::ClassifyStreamResponse answer;
  answer.set_request_id(request.request_id());
  answer.mutable_response()->add_predictions()->set_probability(1);
  answer.mutable_response()->mutable_timings()->set_total(0.001F);
  return answer;
}

grpc::Status AnswerEach(StreamOfServer* stream) {
  for (v1::ClassifyRequest request; stream->Read(&request);) stream->Write(Answered(request));
  return grpc::Status::OK;
}

TEST(LoadStream, OpenAndClosedLoopsUseOneStreamPerConnection) {
  for (const bool open : {true, false}) {
    std::atomic<int> streams = 0, requests = 0;
    std::mutex mutex;
    std::set<std::string> peers, models;
    SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext* context) {
      ++streams;
      std::set<std::string> ids;
      for (v1::ClassifyRequest request; stream->Read(&request);) {
        ++requests;
        EXPECT_TRUE(ids.insert(request.request_id()).second) << request.request_id();
        const std::lock_guard lock(mutex);
        peers.insert(context->peer());
        models.insert(request.model());
        EXPECT_EQ(request.image().size(), 100u);
        stream->Write(Answered(request));
      }
      return grpc::Status::OK;
    }});
    LoadSettings settings = open ? OpenLoop(500, absl::InfiniteDuration()) : ClosedLoop(5, absl::InfiniteDuration());
    settings.warm_up = absl::ZeroDuration();
    settings.max_requests = 80;
    settings.threads = 2;
    const LoadRecord record = RunLoad(Connections(server, 3), Models({"a", "b"}), Streamed(settings), {}).record;
    EXPECT_EQ(record.due(), 80u);
    EXPECT_EQ(record.answered(), 80u);
    EXPECT_EQ(record.good(), 80u);
    EXPECT_EQ(requests, 80);
    EXPECT_EQ(streams, 3);
    EXPECT_EQ(peers.size(), 3u);
    EXPECT_EQ(models, std::set<std::string>({"a", "b"}));
    EXPECT_GT(record.looked_at(), 0u);
    ExpectLedgerCloses(record);
  }
}

// A server stops reading at its limit, so the client must not send more requests than this limit.
TEST(LoadStream, SendsNoMoreThanTheServersLimit) {
  std::atomic<int> read = 0;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) ++read;
    return grpc::Status::OK;
  }});
  LoadSettings settings = ClosedLoop(200, absl::Milliseconds(300));
  settings.patience = absl::Milliseconds(50);
  const LoadRecord record = RunLoad(Connections(server, 2), Models({"m"}), Streamed(settings), {}).record;
  EXPECT_GT(read, 0);
  EXPECT_LE(read, 2 * LoadStream::kInFlight);
  EXPECT_EQ(record.due(), 200u);
  EXPECT_EQ(record.unanswered(), 200u);
  ExpectLedgerCloses(record);
}

// The server answers the requests in reverse order.
TEST(LoadStream, AnswersMayArriveInAnyOrder) {
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    std::vector<v1::ClassifyRequest> held;
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      held.push_back(request);
      if (held.size() < 4) continue;
      for (; !held.empty(); held.pop_back()) {
        stream->Write(held.back().model() == "full"
                          ? StreamErrorTo(held.back(), grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full")
                          : Answered(held.back()));
      }
    }
    return grpc::Status::OK;
  }});
  LoadSettings settings = ClosedLoop(4, absl::InfiniteDuration());
  settings.max_requests = 80;
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m", "full"}), Streamed(settings), {}).record;
  EXPECT_EQ(record.classes()[0].answered, record.classes()[0].due);
  EXPECT_GT(record.classes()[1].due, 0u);
  EXPECT_EQ(record.classes()[1].failed.at(grpc::StatusCode::RESOURCE_EXHAUSTED), record.classes()[1].due);
  EXPECT_EQ(record.errors().at(grpc::StatusCode::RESOURCE_EXHAUSTED).first_message, "the queue is full");
  ExpectLedgerCloses(record);
}

TEST(LoadStream, ADeadlineCountsFromTheScheduledStartAndIsSentAsTimeLimit) {
  std::mutex mutex;
  std::vector<float> limits;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      const std::lock_guard lock(mutex);
      limits.push_back(request.time_limit());
    }
    return grpc::Status::OK;
  }});
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m"}, absl::Milliseconds(50)),
                                    Streamed(OpenLoop(50, absl::Milliseconds(500))), {})
                                .record;
  ASSERT_EQ(record.errors().size(), 1u);
  const auto& error = record.errors().at(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(error.count, record.due());
  EXPECT_EQ(error.first_message, "Deadline Exceeded");
  EXPECT_GE(error.latency.min(), 45'000'000);
  ASSERT_FALSE(limits.empty());
  for (const float limit : limits) {
    EXPECT_GT(limit, 0);
    EXPECT_LE(limit, 0.0501F);
  }
}

TEST(LoadStream, WithoutADeadlineThereIsNoTimeLimit) {
  std::atomic<int> limited = 0;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      limited += request.has_time_limit();
      stream->Write(Answered(request));
    }
    return grpc::Status::OK;
  }});
  LoadSettings settings = ClosedLoop(2, absl::InfiniteDuration());
  settings.max_requests = 10;
  const LoadRecord record =
      RunLoad(Connections(server, 1), Models({"m"}, absl::InfiniteDuration()), Streamed(settings), {}).record;
  EXPECT_EQ(record.good(), 10u);
  EXPECT_EQ(limited, 0);
}

// The late answer to a timed-out request must be dropped, and must free the request's slot on the stream.
TEST(LoadStream, ALateAnswerIsDropped) {
  std::atomic<int> seen = 0;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      if (++seen == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      stream->Write(Answered(request));
    }
    return grpc::Status::OK;
  }});
  const LoadSettings settings = ClosedLoop(1, absl::Milliseconds(1500));
  const LoadRecord record =
      RunLoad(Connections(server, 1), Models({"m"}, absl::Milliseconds(100)), Streamed(settings), {}).record;
  EXPECT_GE(record.errors().at(grpc::StatusCode::DEADLINE_EXCEEDED).count, 1u);
  EXPECT_GT(record.answered(), 10u);
  EXPECT_LT(record.answered(), static_cast<uint64_t>(seen.load()));
  ExpectLedgerCloses(record);
}

TEST(LoadStream, WaitingRequestsUseTheNextStream) {
  std::atomic<int> streams = 0;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) -> grpc::Status {
    if (++streams > 1) return AnswerEach(stream);
    v1::ClassifyRequest request;
    for (int i = 0; i < LoadStream::kInFlight; ++i) stream->Read(&request);
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the message is too large"};
  }});
  LoadSettings settings = ClosedLoop(LoadStream::kInFlight + 6, absl::InfiniteDuration());
  settings.max_requests = LoadStream::kInFlight + 6;
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m"}), Streamed(settings), {}).record;
  const auto& error = record.errors().at(grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.count, static_cast<uint64_t>(LoadStream::kInFlight));
  EXPECT_EQ(error.first_message, "the stream ended: the message is too large");
  EXPECT_EQ(record.answered(), 6u);
  EXPECT_EQ(streams, 2);
}

TEST(LoadStream, AStreamThatEndsWithoutAnErrorFailsItsRequests) {
  std::atomic<int> streams = 0;
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    if (++streams == 1 && stream->Read(&request)) return grpc::Status::OK;
    return AnswerEach(stream);
  }});
  LoadSettings settings = ClosedLoop(1, absl::InfiniteDuration());
  settings.max_requests = 5;
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m"}), Streamed(settings), {}).record;
  EXPECT_EQ(record.errors().at(grpc::StatusCode::UNAVAILABLE).count, 1u);
  EXPECT_EQ(record.answered(), 4u);
}

TEST(LoadStream, AMissingStreamMethodIsCountedAsAnError) {
  SmallServer server({.classify = [](const v1::ClassifyRequest&, v1::ClassifyResponse*, grpc::ServerContext*) {
    return grpc::Status::OK;
  }});
  LoadSettings settings = ClosedLoop(2, absl::InfiniteDuration());
  settings.max_requests = 10;
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m"}), Streamed(settings), {}).record;
  EXPECT_EQ(record.errors().at(grpc::StatusCode::UNIMPLEMENTED).count, 10u);
  EXPECT_THAT(record.errors().at(grpc::StatusCode::UNIMPLEMENTED).first_message, StartsWith("the stream ended: "));
}

TEST(LoadStream, UnusableAnswersAreFailures) {
  SmallServer server({.stream = [](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      v1::ClassifyStreamResponse answer;
      answer.set_request_id(request.request_id());
      if (request.model() == "empty") answer.mutable_response();
      if (request.model() == "stranger") {
        answer = Answered(request);
        answer.set_request_id("1000000");
      }
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }});
  const auto errors_of = [&](const std::string& model) {
    LoadSettings settings = ClosedLoop(1, absl::InfiniteDuration());
    settings.max_requests = 3;
    const LoadRecord record = RunLoad(Connections(server, 1), Models({model}), Streamed(settings), {}).record;
    EXPECT_EQ(record.failed(), 3u) << model;
    return record.errors();
  };
  EXPECT_EQ(errors_of("empty").count(kWithoutPredictions), 1u);
  EXPECT_EQ(errors_of("neither").count(kUnreadable), 1u);
  EXPECT_THAT(errors_of("stranger").at(grpc::StatusCode::INTERNAL).first_message, HasSubstr("answer to no request"));
}

// The client has already sent the next request when the second answer arrives.
TEST(LoadStream, ASecondAnswerToARequestIsNotAnAnswerToTheNext) {
  SmallServer server({.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    for (v1::ClassifyRequest request; stream->Read(&request);) {
      stream->Write(Answered(request));
      stream->Write(Answered(request));
    }
    return grpc::Status::OK;
  }});
  LoadSettings settings = ClosedLoop(1, absl::InfiniteDuration());
  settings.max_requests = 6;
  const LoadRecord record = RunLoad(Connections(server, 1), Models({"m"}), Streamed(settings), {}).record;
  EXPECT_EQ(record.answered(), 3u);
  EXPECT_EQ(record.errors().at(grpc::StatusCode::INTERNAL).count, 3u);
  ExpectLedgerCloses(record);
}

}  // namespace
}  // namespace vitrine
