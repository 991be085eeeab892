// SPDX-License-Identifier: Apache-2.0
// Tests how the threads of a load share the requests, when a load ends, and the progress reports of a load.
#include "client/load/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "client/load/processor_time.h"
#include "tests/client/load/counted_load.h"
#include "tests/client/load/made_times.h"

namespace vitrine {
namespace {

LoadSettings Evenly(double rate) {
  LoadSettings settings;
  settings.arrivals = [rate] { return ArrivalsAtRate(ArrivalProcess::kConstant, rate, 1); };
  settings.warm_up = absl::ZeroDuration();
  settings.duration = absl::InfiniteDuration();
  return settings;
}

// Returns the number of requests of each model among the first `count` requests.
std::map<std::string, uint64_t> Drawn(const Workload& workload, uint64_t seed, uint64_t count) {
  std::map<std::string, uint64_t> drawn;
  for (uint64_t number = 0; number < count; ++number) {
    const uint32_t request = workload.Pick(seed, number);
    ++drawn[workload.classes[workload.requests[request].request_class].model.name];
  }
  return drawn;
}

// Every request must be drawn exactly once, with any number of threads.
TEST(Lanes, TogetherDrawTheRequestsOfASingleThread) {
  const Workload workload = Models({"a", "b", "c"});
  for (const bool open : {true, false}) {
    for (const int threads : {1, 3}) {
      CountingServer server;
      LoadSettings settings = Evenly(2000);
      if (!open) settings.arrivals = nullptr;
      settings.threads = threads;
      settings.concurrency = 3;
      settings.max_requests = 99;
      settings.seed = 7;
      const LoadResult result = RunLoad(server.Connect(3), workload, settings, {});
      EXPECT_EQ(server.seen(), Drawn(workload, 7, 99)) << threads;
      ASSERT_EQ(result.record.classes().size(), 3u);
      EXPECT_EQ(result.record.classes()[1].due, server.seen()["b"]);
      EXPECT_EQ(result.record.classes()[2].answered, server.seen()["c"]);
    }
  }
}

TEST(Lanes, ShareTheLimitsOfOutstandingAndOfAllRequests) {
  CountingServer server(NeverAnswer);
  const Workload workload = Models({"a", "b", "c"});
  LoadSettings settings = Evenly(2000);
  settings.threads = 3;
  settings.max_outstanding = 10;
  settings.max_requests = 26;
  settings.patience = absl::Milliseconds(200);
  const LoadRecord record = RunLoad(server.Connect(3), workload, settings, {}).record;
  EXPECT_EQ(record.due(), 26u);
  EXPECT_EQ(record.unanswered(), 10u);
  EXPECT_EQ(record.not_sent(), 16u);
  uint64_t outstanding = 0;
  for (const auto& [model, count] : server.seen()) outstanding += count;
  EXPECT_EQ(outstanding, 10u);
  const std::map<std::string, uint64_t> drawn = Drawn(workload, 1, 26);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(record.classes()[i].due, drawn.at(workload.classes[i].model.name));
    EXPECT_EQ(record.classes()[i].due, record.classes()[i].not_sent + record.classes()[i].unanswered);
  }
  ExpectLedgerCloses(record);
}

TEST(Lanes, InAClosedLoopTheyKeepTheirSumOfRequestsInFlight) {
  CountingServer server(NeverAnswer);
  LoadSettings settings;
  settings.threads = 3;
  settings.concurrency = 4;
  settings.warm_up = absl::ZeroDuration();
  settings.duration = absl::Milliseconds(200);
  settings.patience = absl::ZeroDuration();
  const LoadRecord record = RunLoad(server.Connect(3), Models({"m"}), settings, {}).record;
  EXPECT_EQ(record.due(), 4u);
  EXPECT_EQ(record.unanswered(), 4u);
}

// Answers after 60 ms. This is longer than the gap between two requests, so the answers do not determine the end of the
// load.
grpc::Status AnswerLate(const v1::ClassifyRequest&, grpc::ServerContext*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  return grpc::Status::OK;
}

// The measured interval ends one gap after the last request, so that N requests last N gaps.
TEST(Lanes, ANumberOfRequestsIsMeasuredForTheSameNumberOfGaps) {
  for (const int threads : {1, 2}) {
    for (const int requests : {2 * threads, 6}) {
      CountingServer server(AnswerLate);
      LoadSettings settings = Evenly(100);
      settings.warm_up = absl::Milliseconds(100);
      settings.max_requests = static_cast<uint64_t>(requests);
      settings.threads = threads;
      const LoadRecord record = RunLoad(server.Connect(2), Models({"m"}), settings, {}).record;
      EXPECT_EQ(record.due(), settings.max_requests);
      EXPECT_EQ(server.seen()["m"], 10 + settings.max_requests)
          << "the server must also get the requests of the warm-up";
      EXPECT_EQ(record.interval().from, 100 * kMs);
      // `gap` is the time between two requests of one thread. The last thread may start up to one gap later than the
      // first.
      const int64_t gap = 10 * threads * kMs;
      EXPECT_GE(record.interval().to, 100 * kMs + requests / threads * gap);
      EXPECT_LE(record.interval().to, 100 * kMs + (requests / threads + threads - 1) * gap);
    }
  }
}

TEST(Lanes, ASingleRequestIsMeasuredUntilItsAnswer) {
  CountingServer server(AnswerLate);
  for (const bool open : {true, false}) {
    LoadSettings settings = Evenly(100);
    if (!open) settings.arrivals = nullptr;
    settings.max_requests = settings.concurrency = 1;
    const LoadRecord record = RunLoad(server.Connect(1), Models({"m"}), settings, {}).record;
    EXPECT_EQ(record.answered(), 1u);
    EXPECT_GE(record.interval().to, 60 * kMs);
    EXPECT_LT(record.interval().to, 20'000 * kMs);
  }
}

TEST(Lanes, UseEveryConnectionAndSendTheirUserAgent) {
  std::mutex mutex;
  std::set<std::string> peers, agents;
  CountingServer server([&](const v1::ClassifyRequest&, grpc::ServerContext* context) {
    const std::lock_guard lock(mutex);
    peers.insert(context->peer());
    const auto agent = context->client_metadata().find("user-agent");
    agents.emplace(agent->second.data(), agent->second.find(' '));
    return grpc::Status::OK;
  });
  LoadSettings settings;
  settings.threads = settings.concurrency = 2;
  settings.max_requests = 40;
  settings.duration = absl::InfiniteDuration();
  settings.warm_up = absl::ZeroDuration();
  RunLoad(server.Connect(5), Models({"m"}), settings, {});
  EXPECT_EQ(peers.size(), 5u);
  EXPECT_THAT(agents, testing::ElementsAre("vitrine-bench"));
}

TEST(RunLoad, ReportsEverySecondOfTheInterval) {
  CountingServer server([](const v1::ClassifyRequest& request, grpc::ServerContext*) -> grpc::Status {
    if (request.model() == "full") return {grpc::StatusCode::RESOURCE_EXHAUSTED, "full"};
    return grpc::Status::OK;
  });
  LoadSettings settings = Evenly(40);
  settings.warm_up = absl::Milliseconds(200);
  settings.duration = absl::Milliseconds(2200);
  settings.threads = 2;
  std::vector<LoadProgress> told;
  LoadHooks hooks;
  hooks.progress = [&](const LoadProgress& progress) { told.push_back(progress); };
  const LoadRecord record = RunLoad(server.Connect(2), Models({"m", "full"}), settings, hooks).record;
  ASSERT_GE(told.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GE(told[i].seconds, static_cast<double>(i + 1));
    EXPECT_LE(told[i].due, 40);
    EXPECT_GT(told[i].due, 0);
    EXPECT_GT(told[i].answered, 0);
    EXPECT_GT(told[i].failed, 0);
    // A progress report counts only answers that arrived in the second that it describes.
    EXPECT_LE(told[i].answered, static_cast<double>(record.seconds()[i].answered));
    EXPECT_LE(told[i].failed, static_cast<double>(record.seconds()[i].failed));
    EXPECT_GT(told[i].p50_ms, 0);
    EXPECT_GE(told[i].p99_ms, told[i].p50_ms);
    EXPECT_LT(told[i].p99_ms, 20'000);
    EXPECT_GE(told[i].outstanding, 0);
  }
}

TEST(RunLoad, ReportsOutstandingAndUnsentRequests) {
  CountingServer server(NeverAnswer);
  LoadSettings settings = Evenly(40);
  settings.duration = absl::Milliseconds(1200);
  settings.max_outstanding = 5;
  settings.threads = 2;
  settings.patience = absl::ZeroDuration();
  std::vector<LoadProgress> told;
  LoadHooks hooks;
  hooks.progress = [&](const LoadProgress& progress) { told.push_back(progress); };
  RunLoad(server.Connect(2), Models({"m"}), settings, hooks);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].outstanding, 5);
  EXPECT_EQ(told[0].answered, 0);
  EXPECT_EQ(told[0].failed, told[0].due - 5);
  EXPECT_EQ(told[0].p99_ms, 0);
}

// Uses 0.3 s of processor time, partly in the kernel.
void Work() {
  std::vector<char> zeros(1 << 22);
  std::ifstream file("/dev/zero", std::ios::binary);
  const double begin = OwnProcessorSeconds();
  volatile uint64_t sum = 0;
  while (OwnProcessorSeconds() - begin < 0.3) {
    file.read(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    for (int i = 0; i < 1'000'000; ++i) sum = sum + static_cast<uint64_t>(i);
  }
}

TEST(ProcessorSeconds, IncludeUserAndKernelTimeOfTheProcess) {
  const double before = ProcessorSecondsOf(getpid()), own_before = OwnProcessorSeconds();
  Work();
  const double own = OwnProcessorSeconds();
  EXPECT_GE(own - own_before, 0.3);
  EXPECT_NEAR(ProcessorSecondsOf(getpid()) - before, own - own_before, 0.1);
  EXPECT_NEAR(ProcessorSecondsOf(getpid()), own, 0.1);
  EXPECT_EQ(ProcessorSecondsOf(0), 0);
  EXPECT_EQ(ProcessorSecondsOf(1 << 30), 0);
}

TEST(RunLoad, CountsTheProcessorTimeOfTheServerInTheInterval) {
  CountingServer server([](const v1::ClassifyRequest&, grpc::ServerContext*) {
    Work();
    return grpc::Status::OK;
  });
  LoadSettings settings = Evenly(1);
  settings.duration = absl::Milliseconds(900);
  settings.server_process = getpid();  // generator and server are the same process in this test
  const LoadResult result = RunLoad(server.Connect(1), Models({"m"}), settings, {});
  EXPECT_GT(result.generator_seconds, 0.1);
  EXPECT_NEAR(result.server_seconds, result.generator_seconds, 0.1);
  EXPECT_DOUBLE_EQ(result.ServerShare(), result.server_seconds / 0.9);
}

}  // namespace
}  // namespace vitrine
