// SPDX-License-Identifier: Apache-2.0
// Tests loads with a real gRPC server in this process.
#include "client/load/load.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "absl/time/clock.h"
#include "tests/client/load/counted_load.h"

namespace vitrine {
namespace {

// Returns the number of requests in [begin, end) of the schedule with this rate.
uint64_t Scheduled(double rate, int64_t begin, int64_t end) {
  uint64_t count = 0;
  const auto arrivals = ArrivalsAtRate(ArrivalProcess::kPoisson, rate, 1);
  for (auto next = arrivals->Next(); next->due < end; next = arrivals->Next()) count += next->due >= begin;
  return count;
}

TEST(RunLoad, AnOpenLoopSendsExactlyItsSchedule) {
  for (const int threads : {1, 3}) {
    CountingServer server;
    const LoadConnections connections = server.Connect(4);
    LoadSettings settings = OpenLoop(400, absl::Seconds(1));
    settings.threads = threads;
    const LoadResult result = RunLoad(connections, Models({"m"}), settings, {});
    EXPECT_EQ(server.seen()["m"], Scheduled(400, 0, 1'100'000'000));
    EXPECT_EQ(result.record.due(), Scheduled(400, 100'000'000, 1'100'000'000));
    EXPECT_EQ(result.record.answered(), result.record.due());
    EXPECT_EQ(result.record.good(), result.record.due());
    EXPECT_FALSE(result.interrupted);
    EXPECT_GT(result.generator_seconds, 0);
    EXPECT_EQ(result.record.latency().count(), result.record.due());
    EXPECT_EQ(result.record.slip().count(), result.record.due());
    EXPECT_EQ(result.record.looked_at(), result.record.due()) << "with few requests, every answer must be examined";
    EXPECT_GT(result.receiver_share, 0);
    EXPECT_EQ(result.record.MeanBatchImages(), 2);
    EXPECT_EQ(result.record.without_predictions(), 0u);
    ExpectLedgerCloses(result.record);
  }
}

TEST(RunLoad, AClosedLoopKeepsItsNumberOfRequestsInFlight) {
  std::atomic<int> now = 0, most = 0;
  CountingServer server([&](const v1::ClassifyRequest&, grpc::ServerContext*) {
    const int mine = ++now;
    for (int seen = most; mine > seen && !most.compare_exchange_weak(seen, mine);) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --now;
    return grpc::Status::OK;
  });
  LoadSettings settings;
  settings.concurrency = 3;
  settings.warm_up = absl::ZeroDuration();
  settings.duration = absl::Milliseconds(500);
  const LoadResult result = RunLoad(server.Connect(2), Models({"m"}), settings, {});
  EXPECT_EQ(most, 3);
  EXPECT_GT(result.record.answered(), 3u);
  EXPECT_LE(result.record.answered(), 3u * 26u);  // each request takes 20 ms
  EXPECT_EQ(server.seen()["m"], result.record.due());
  ExpectLedgerCloses(result.record);
}

TEST(RunLoad, AnswersAfterTheIntervalCountInTheLatencyAndNotInTheRate) {
  std::atomic<int> number = 0;
  CountingServer server([&](const v1::ClassifyRequest&, grpc::ServerContext*) {
    if (number++ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(450));
    return grpc::Status::OK;
  });
  LoadSettings settings = OpenLoop(200, absl::Milliseconds(400));
  settings.warm_up = absl::ZeroDuration();
  const LoadResult result = RunLoad(server.Connect(1), Models({"m"}), settings, {});
  EXPECT_EQ(result.record.answered(), result.record.due());
  EXPECT_GE(result.record.latency().max(), 450'000'000);
  EXPECT_LT(result.record.AnsweredPerSecond() * 0.4, static_cast<double>(result.record.answered()) - 0.5);
}

TEST(RunLoad, WithALateGeneratorLatencyCountsFromTheScheduledStart) {
  CountingServer server;
  LoadSettings settings = OpenLoop(100, absl::Milliseconds(600));
  settings.warm_up = absl::ZeroDuration();
  // In an open loop, the sender calls this function before each request. The tenth call blocks.
  std::atomic<int> asked = 0;
  LoadHooks hooks;
  hooks.stopped = [&] {
    if (++asked == 10) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return false;
  };
  const LoadResult result = RunLoad(server.Connect(1), Models({"m"}), settings, hooks);
  EXPECT_EQ(result.record.due(), Scheduled(100, 0, 600'000'000));  // late requests are not omitted
  // Half of the requests become due while the tenth call blocks.
  EXPECT_GE(result.record.slip().Quantile(0.8), 100'000'000);
  EXPECT_GE(result.record.latency().Quantile(0.8), 100'000'000);
  EXPECT_NE(result.VoidReason(), "");
}

TEST(RunLoad, ErrorsAreCountedByCodeWithTheirFirstMessage) {
  CountingServer server([](const v1::ClassifyRequest& request, grpc::ServerContext*) -> grpc::Status {
    if (request.model() == "full") return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"};
    if (request.model() == "none") return {grpc::StatusCode::NOT_FOUND, "no such model"};
    return grpc::Status::OK;
  });
  const LoadResult result =
      RunLoad(server.Connect(2), Models({"m", "full", "none"}), OpenLoop(300, absl::Seconds(1)), {});
  const LoadRecord& record = result.record;
  ASSERT_EQ(record.errors().size(), 2u);
  EXPECT_EQ(record.errors().at(grpc::StatusCode::RESOURCE_EXHAUSTED).first_message, "the queue is full");
  EXPECT_GT(record.errors().at(grpc::StatusCode::NOT_FOUND).count, 0u);
  EXPECT_EQ(record.answered(), record.classes()[0].answered);
  EXPECT_EQ(record.classes()[1].answered, 0u);
  EXPECT_EQ(record.FailureLatency().count(), record.failed());
  ExpectLedgerCloses(record);
}

TEST(RunLoad, ADeadlineCountsFromTheScheduledStart) {
  CountingServer server(NeverAnswer);
  const LoadResult result =
      RunLoad(server.Connect(1), Models({"m"}, absl::Milliseconds(50)), OpenLoop(50, absl::Milliseconds(500)), {});
  ASSERT_EQ(result.record.errors().size(), 1u);
  const auto& error = result.record.errors().at(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(error.count, result.record.due());
  EXPECT_GE(error.latency.min(), 45'000'000);
}

TEST(RunLoad, AnInterruptKeepsTheResultsSoFar) {
  CountingServer server;
  std::atomic<bool> stopped = false;
  LoadHooks hooks;
  hooks.stopped = [&] { return stopped.load(); };
  hooks.progress = [&](const LoadProgress& progress) { stopped = progress.answered > 0; };
  LoadSettings settings = OpenLoop(100, absl::Hours(1));
  const LoadResult result = RunLoad(server.Connect(1), Models({"m"}), settings, hooks);
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(result.record.answered(), 0u);
  EXPECT_LT(result.record.interval().Seconds(), 60);
  ExpectLedgerCloses(result.record);
}

TEST(RunLoad, AnInterruptEndsTheWaitForTheLastAnswers) {
  CountingServer server(NeverAnswer);
  LoadSettings settings = OpenLoop(50, absl::Milliseconds(300));
  settings.patience = absl::Minutes(2);
  const LoadConnections connections = server.Connect(1);
  const absl::Time begin = absl::Now();
  LoadHooks hooks;
  hooks.stopped = [begin] {
    return absl::Now() - begin > absl::Milliseconds(800);
  };  // after 800 ms, RunLoad only waits for the last answers
  const LoadResult result = RunLoad(connections, Models({"m"}), settings, hooks);
  EXPECT_LT(absl::Now() - begin, absl::Minutes(1));
  EXPECT_TRUE(result.interrupted);
  EXPECT_NEAR(result.record.interval().Seconds(), 0.3, 1e-6);
  ExpectLedgerCloses(result.record);
}

TEST(RunLoad, OneSlowAnswerDoesNotLowerTheRate) {
  constexpr int kRequests = 100;
  constexpr auto kStraggles = std::chrono::milliseconds(450);  // delay after all other answers
  std::atomic<int> number = 0, answered = 0;
  CountingServer server([&](const v1::ClassifyRequest&, grpc::ServerContext*) {
    if (number++ == kRequests / 2) {
      while (answered < kRequests - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(kStraggles);
    }
    ++answered;
    return grpc::Status::OK;
  });
  for (const bool open : {true, false}) {
    number = answered = 0;
    LoadSettings settings = open ? OpenLoop(200, absl::InfiniteDuration()) : LoadSettings();
    settings.warm_up = absl::ZeroDuration();
    settings.duration = absl::InfiniteDuration();
    settings.max_requests = kRequests;
    const absl::Time begin = absl::Now();
    const LoadResult result = RunLoad(server.Connect(1), Models({"m"}), settings, {});
    const double took = absl::ToDoubleSeconds(absl::Now() - begin);
    EXPECT_EQ(result.record.answered(), 100u);
    EXPECT_GE(result.record.latency().max(), std::chrono::nanoseconds(kStraggles).count());
    // The interval ends soon after the last request is sent, and before the slow answer.
    EXPECT_LT(result.record.interval().Seconds(), took - 0.2);
    EXPECT_GT(result.record.AnsweredPerSecond(), 16);
    EXPECT_LT(result.record.DuePerSecond(), open ? 300 : 1e6);
  }
}

TEST(RunLoad, AnAnswerWithoutPredictionsIsAFailureUnlessAllowed) {
  SmallServer server({.classify = [](const v1::ClassifyRequest&, v1::ClassifyResponse* response, grpc::ServerContext*) {
    response->mutable_timings()->set_total(0.001F);
    return grpc::Status::OK;
  }});
  ClientOptions options;
  options.address = server.address();
  const LoadConnections connections = OpenConnections(options, 1).value();
  LoadSettings settings = OpenLoop(100, absl::Milliseconds(300));
  const LoadRecord wrong = RunLoad(connections, Models({"m"}), settings, {}).record;
  EXPECT_EQ(wrong.answered(), 0u);
  EXPECT_GT(wrong.due(), 0u);
  EXPECT_EQ(wrong.without_predictions(), wrong.due());
  EXPECT_EQ(wrong.GoodPerSecond(), 0);
  EXPECT_EQ(wrong.classes()[0].failed.at(kWithoutPredictions), wrong.due());
  settings.allow_empty = true;
  const LoadRecord allowed = RunLoad(connections, Models({"m"}), settings, {}).record;
  EXPECT_EQ(allowed.good(), allowed.due());
}

TEST(RunLoad, ALostServerIsCountedAsAnErrorAndNotFlooded) {
  CountingServer server({}, LastingAddress());
  const LoadConnections connections = server.Connect(1);
  server.server().Stop();
  LoadSettings settings;
  settings.concurrency = 2;
  settings.warm_up = absl::ZeroDuration();
  settings.duration = absl::Milliseconds(500);
  const LoadResult result = RunLoad(connections, Models({"m"}), settings, {});
  EXPECT_EQ(result.record.answered(), 0u);
  ASSERT_EQ(result.record.errors().count(grpc::StatusCode::UNAVAILABLE), 1u);
  EXPECT_LE(result.record.due(), 2u * 52u);  // each of the two callers tries again every 10 ms
}

TEST(RunLoad, ATraceSendsItsRequestsInOrder) {
  CountingServer server;
  Trace trace;
  for (const std::string model : {"a", "b", "c"}) {
    RequestClass one;
    one.model.name = model;
    trace.requests.push_back({static_cast<uint32_t>(trace.classes.size()), ""});
    trace.classes.push_back(one);
  }
  constexpr int64_t kGap = 400'000'000;
  trace.arrivals = {{0, 0, 2}, {kGap, 1, 0}, {2 * kGap, 2, 0}, {3 * kGap, 3, 1}};
  WorkloadOptions options;
  options.bytes = 100;
  LoadSettings settings;
  settings.trace = true;
  settings.arrivals = [&] { return ArrivalsOf(trace.arrivals); };
  settings.warm_up = absl::ZeroDuration();
  settings.duration = absl::Seconds(2);
  const LoadResult result = RunLoad(server.Connect(1), *PrepareTrace(trace, options), settings, {});
  EXPECT_EQ(server.order(), "caab");
  EXPECT_EQ(result.record.answered(), 4u);
  EXPECT_EQ(result.record.classes()[0].answered, 2u);
}

}  // namespace
}  // namespace vitrine
