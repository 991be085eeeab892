// SPDX-License-Identifier: Apache-2.0
#include "client/load/bench_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "tests/client/load/bench.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(RunBench, PrintsAnOpenLoopAsJson) {
  SmallServer server({.classify = Classify});
  BenchCommand command = For(server, "m");
  command.rate = 200;
  command.duration =
      absl::Seconds(2);  // long enough that even a busy machine answers a quarter of the requests in time
  command.format = Format::kJson;
  const Outcome outcome = Bench(command);
  ASSERT_TRUE(outcome.measured.ok()) << outcome.measured.status();
  EXPECT_EQ(*outcome.measured, BenchOutcome::kMeasured);
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["server"], server.address());
  EXPECT_EQ(report["loop"], "open loop, Poisson arrivals");
  const json& point = report["points"][0];
  EXPECT_EQ(point["offered_per_second"], 200);
  EXPECT_EQ(point["due"], point["answered"]);
  EXPECT_GT(point["answered"], 30);
  EXPECT_GT(point["answered_per_second"], 50.0);
  EXPECT_LE(point["latency_ms"]["p50"], point["latency_ms"]["p99"]);
  EXPECT_LE(point["latency_ms"]["p99.9"], point["latency_ms"]["max"]);
  EXPECT_EQ(point["latency_ms"]["count"], point["answered"]);
  EXPECT_TRUE(point["errors"].empty());
  EXPECT_TRUE(point["stable"].is_null());
  EXPECT_GT(point["generator"]["cpu_us_per_request"], 0.0);
  EXPECT_EQ(point["generator"]["slip_ms"]["count"], point["due"]);
  EXPECT_EQ(point["classes"][0]["name"], "m within 30s");
  EXPECT_GT(point["server"]["looked_at"], 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

// Runs the command with a load generator that is late. In an open loop, the sender calls `stopped` before each request.
// Every fifth call blocks for 30 ms.
Outcome BenchHeldUp(const BenchCommand& command) {
  std::atomic<int> asked = 0;
  return Bench(command, [&] {
    if (++asked % 5 == 0) absl::SleepFor(absl::Milliseconds(30));
    return false;
  });
}

TEST(RunBench, ASearchWithALateGeneratorHasAResult) {
  SmallServer server({.classify = Classify});
  BenchCommand command = For(server, "m");
  command.find_max = true;
  command.sweep = ParseSweepRange("50:50").value();
  command.goal.bounds = {{0.99, absl::Seconds(5)}};
  command.format = Format::kJson;
  const Outcome met = BenchHeldUp(command);
  ASSERT_TRUE(met.measured.ok()) << met.measured.status();
  EXPECT_EQ(*met.measured, BenchOutcome::kMeasured);
  // On a busy machine, the last of the 50 answers may arrive after the measured second, so the test requires only a
  // rate above 0.
  EXPECT_GT(json::parse(met.out)["best_per_second"], 0) << met.out;

  command.goal.bounds = {{0.99, absl::Milliseconds(15)}};
  const Outcome missed = BenchHeldUp(command);
  ASSERT_TRUE(missed.measured.ok()) << missed.measured.status();
  EXPECT_EQ(*missed.measured, BenchOutcome::kNothing);
  const json report = json::parse(missed.out);
  EXPECT_EQ(report["complete"], true);
  EXPECT_EQ(report["points"].size(), 2u) << "the point must be repeated, because the generator was late";
  EXPECT_THAT(
      report["verdict"].get<std::string>(),
      testing::AllOf(HasSubstr("Not even 50.0 requests/s meet the goal"),
                     HasSubstr("The load generator may be the limit: at 50.0 requests/s, in both measurements the "
                               "generator itself was late, by ")));
}

// Returns a command that replays the trace without a warm-up.
BenchCommand Replay(const SmallServer& server, const ScratchFolder& folder, const std::string& trace) {
  BenchCommand command = For(server, "m");
  command.trace = folder.Write("t.csv", trace).string();
  command.duration.reset();
  command.warm_up.reset();
  command.format = Format::kJson;
  return command;
}

json PointOf(const BenchCommand& command) {
  const Outcome outcome = Bench(command);
  EXPECT_TRUE(outcome.measured.ok()) << outcome.measured.status();
  return outcome.measured.ok() ? json::parse(outcome.out)["points"][0] : json();
}

TEST(RunBench, ATraceIsReplayed) {
  SmallServer server({.classify = Classify});
  const ScratchFolder folder;
  BenchCommand command = Replay(server, folder, "seconds,model\n0,m\n0.1,busy\n0.2,m\n");
  const json point = PointOf(command);
  EXPECT_EQ(point["due"], 3);
  EXPECT_EQ(point["answered"], 2);
  EXPECT_EQ(point["errors"][0]["code"], "RESOURCE_EXHAUSTED");
  EXPECT_EQ(point["seconds"], 1);  // a trace of less than a second is measured for one second
  EXPECT_EQ(point["due_per_second"], 3);
  EXPECT_EQ(point["answered_per_second"], 2);
  command.warm_up = absl::Seconds(1);
  EXPECT_EQ(Bench(command).measured.status().message(), "--warmup 1s leaves no measurement of a trace of 1s");
  command.warm_up = absl::Milliseconds(150);
  const json warmed_up = PointOf(command);
  EXPECT_EQ(warmed_up["due"], 1) << "requests of the warm-up must not count";
  EXPECT_EQ(warmed_up["seconds"], 0.85);
  command.duration = absl::Milliseconds(30);
  EXPECT_EQ(PointOf(command)["seconds"], 0.03);
}

// The gap between the two requests is 0.8 s. The measurement continues for 0.8 s after the second request.
TEST(RunBench, ATraceIsMeasuredForAMeanGapAfterItsLastRequest) {
  SmallServer server({.classify = Classify});
  const ScratchFolder folder;
  EXPECT_NEAR(PointOf(Replay(server, folder, "seconds,model\n0,m\n0.8,m\n"))["seconds"].get<double>(), 1.6, 1e-3);
}

TEST(RunBench, WrongArgumentsAreReportedBeforeTheLoad) {
  SmallServer server({.classify = Classify});
  const Outcome wrong_model = Bench(For(server, "none"));
  EXPECT_EQ(wrong_model.measured.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(wrong_model.measured.status().message()), HasSubstr("no model \"none\" is ready"));
  EXPECT_EQ(wrong_model.out, "");

  BenchCommand no_image = For(server, "m");
  no_image.request.images = {"/nowhere/cat.jpg"};
  EXPECT_THAT(std::string(Bench(no_image).measured.status().message()), HasSubstr("/nowhere/cat.jpg"));

  BenchCommand no_server = For(server, "m");
  server.Stop();
  const Outcome refused = Bench(no_server);
  EXPECT_EQ(refused.measured.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.measured.status().message()), HasSubstr(no_server.client.address));
}

TEST(RunBench, EachRejectedImageIsNamedOnce) {
  const SmallServer server({.classify = [](const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                                           grpc::ServerContext* context) -> grpc::Status {
    if (request.image() == "text") return {grpc::StatusCode::INVALID_ARGUMENT, "the image is text"};
    return Classify(request, response, context);
  }});
  const ScratchFolder folder;
  folder.Write("p/a.png", "an image");
  folder.Write("p/b.png", "text");
  folder.Write("p/notes.txt", "");
  BenchCommand command = For(server, "m");
  command.request.images = {folder.Path("p")};
  const Outcome mixed = Bench(command);
  ASSERT_TRUE(mixed.measured.ok()) << mixed.measured.status();
  EXPECT_EQ(mixed.errors, "vitrine: skipped: 1 .txt\nvitrine: " + folder.Path("p/b.png") + ": the image is text\n");
  command.request.images = {folder.Path("p/b.png")};
  EXPECT_THAT(std::string(Bench(command).measured.status().message()),
              AllOf(HasSubstr("b.png) was refused: the image is text"), HasSubstr(folder.Path("p/b.png"))));
}

TEST(ValidateBench, RefusesInvalidCombinations) {
  BenchCommand command;
  EXPECT_TRUE(ValidateBench(command).ok());
  command.load.threads = 5;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("--connections"));
  command = {};
  command.trace = "t.csv";
  command.rate = 5;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("a trace has its own rate"));
  command = {};
  command.sweep = SweepRange{1, 2, 1, 0};
  command.rate = 5;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("--sweep"));
  command = {};
  command.goal.bounds = {LatencyBound()};
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("--find-max"));
  command.find_max = true;
  EXPECT_TRUE(ValidateBench(command).ok());
  command.goal.least_good = 0;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("--good"));
  command = {};
  command.load.threads = 2;
  command.load.concurrency = 1;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("share --concurrency 1"));
  command.rate = 5;
  EXPECT_TRUE(ValidateBench(command).ok());
  command.load.max_outstanding = 1;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("share --max-outstanding 1"));
  command = {};
  command.duration = absl::ZeroDuration();
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("--duration"));
  command = {};
  command.load.server_process = 1 << 30;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("no such process"));
}

// Settings at a limit are valid. Settings beyond a limit are invalid.
TEST(ValidateBench, AcceptsSettingsAtTheirLimits) {
  BenchCommand command;
  command.connections = command.load.threads = command.load.concurrency = 3;
  command.duration = absl::Nanoseconds(1);
  command.load.server_process = getpid();
  EXPECT_EQ(ValidateBench(command), absl::OkStatus());
  command.load.concurrency = 2;
  EXPECT_FALSE(ValidateBench(command).ok());
  command.sweep = SweepRange{1, 2, 1, 0};
  command.load.max_outstanding = 3;
  EXPECT_EQ(ValidateBench(command), absl::OkStatus()) << "an open loop does not use --concurrency";
  command.load.max_outstanding = 2;
  EXPECT_FALSE(ValidateBench(command).ok());
}

TEST(ValidateBench, ATraceExcludesOptionsThatSetARate) {
  BenchCommand trace;
  trace.trace = "t.csv";
  trace.load.concurrency = 1;
  trace.load.threads = 2;
  EXPECT_EQ(ValidateBench(trace), absl::OkStatus()) << "a trace does not use --concurrency";
  BenchCommand swept = trace, searched = trace, mixed = trace;
  swept.sweep = SweepRange{1, 2, 1, 0};
  searched.find_max = searched.deadline_given = true;
  mixed.mix = {"model=a"};
  for (const BenchCommand& command : {swept, searched, mixed}) {
    EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("a trace has its own rate"));
  }
}

TEST(ValidateBench, ASearchNeedsALatencyBoundOrADeadline) {
  BenchCommand command;
  command.find_max = true;
  EXPECT_THAT(std::string(ValidateBench(command).message()), HasSubstr("needs a bound"));
  command.mix = {"model=a,deadline=50ms;model=b"};
  EXPECT_FALSE(ValidateBench(command).ok());
  command.mix = {"model=a,deadline=50ms;model=b,deadline=1s"};
  EXPECT_TRUE(ValidateBench(command).ok());
  command.mix.clear();
  command.deadline_given = true;
  EXPECT_TRUE(ValidateBench(command).ok());
}

}  // namespace
}  // namespace vitrine
