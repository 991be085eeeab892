// SPDX-License-Identifier: Apache-2.0
// Tests the verdict of a sweep, and of a search for the highest rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/load/bench_command.h"
#include "tests/client/load/bench.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using nlohmann::json;
using testing::MatchesRegex;

// A load with so few requests that a late load generator cannot make a measured rate invalid (void). The server answers
// the probe and the first `good` requests of the load, and rejects all later requests.
struct SmallLoad {
  explicit SmallLoad(int good)
      : server({.classify =
                    [this, good](const auto&, v1::ClassifyResponse* response, auto*) {
                      if (++asked > 1 + good)
                        return WithRetryInfo(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Seconds(1));
                      response->add_predictions()->set_probability(1);
                      return grpc::Status::OK;
                    }}),
        command(Short(server)) {
    command.process = ArrivalProcess::kConstant;
    command.duration = absl::Milliseconds(400);
  }

  // Runs the load. Interrupts the run once it has printed a line for each of the first `points` measured rates.
  json Run(size_t points = 1000) {
    std::ostringstream out;
    errors.str("");
    const auto stopped = [&] {
      const std::string told = errors.str();
      return static_cast<size_t>(std::count(told.begin(), told.end(), '\n')) >= points;
    };
    auto result = RunBench(command, out, errors, /*live=*/false, stopped);
    EXPECT_TRUE(result.ok()) << result.status();
    outcome = result.value_or(BenchOutcome::kNothing);
    return json::parse(out.str());
  }

  std::atomic<int> asked = 0;
  SmallServer server;
  BenchCommand command;
  std::ostringstream errors;
  BenchOutcome outcome = BenchOutcome::kNothing;
};

TEST(RunBenchAtRates, ASweepNamesItsBestPointAtAnyPosition) {
  SmallLoad load(1 + 2);  // one request at 1/s, and two requests at 2/s
  load.command.duration = absl::Seconds(1);
  load.command.sweep = ParseSweepRange("1:3:1").value();
  const ScratchFolder folder;
  load.command.out = folder.path().string();
  const json report = load.Run();
  EXPECT_EQ(report["verdict"], "The highest goodput is 2.0 requests/s, at 2.0 offered.");
  EXPECT_EQ(report["points"][1]["offered_per_second"], 2);
  for (const char* file : {"load.html", "latency-02-2.hgrm", "seconds-03-3.csv"}) EXPECT_NE(folder.Read(file), "");
  EXPECT_EQ(report["complete"], true);
  EXPECT_FALSE(report["points"][0].contains("goal_met"));
  EXPECT_THAT(load.errors.str(), MatchesRegex(" +1\\.0/s offered, goodput 1\\.0/s, p99 [0-9.]+ ms\n"
                                              " +2\\.0/s offered, goodput 2\\.0/s, p99 [0-9.]+ ms\n"
                                              " +3\\.0/s offered, goodput 0\\.0/s, p99 inf\n"));
  EXPECT_EQ(load.outcome, BenchOutcome::kMeasured);
}

TEST(RunBenchAtRates, ASweepWithoutAnAnswerSaysSo) {
  SmallLoad load(0);
  load.command.sweep = ParseSweepRange("5:5").value();
  EXPECT_EQ(load.Run()["verdict"], "No rate had an answer in time while the generator itself was on time.");
  EXPECT_EQ(load.outcome, BenchOutcome::kNothing);
}

TEST(RunBenchAtRates, AnInterruptedSweepReportsItsResultsSoFar) {
  SmallLoad load(1000);
  load.command.duration = absl::Seconds(1);
  load.command.sweep = ParseSweepRange("1:3:1").value();
  const json report = load.Run(/*points=*/2);
  EXPECT_EQ(report["verdict"],
            "Incomplete: the sweep was interrupted. The highest goodput is 2.0 requests/s, at 2.0 offered.");
  EXPECT_EQ(report["complete"], false);
  EXPECT_EQ(report["points"].size(), 2u);
  EXPECT_EQ(load.outcome, BenchOutcome::kInterrupted);
  EXPECT_EQ(load.Run(/*points=*/3)["complete"], true) << "an interrupt after the last point must have no effect";
  EXPECT_EQ(load.outcome, BenchOutcome::kMeasured);
}

TEST(RunBenchAtRates, ASearchReportsItsResult) {
  SmallLoad load(1000);
  load.command.find_max = true;
  load.command.sweep = ParseSweepRange("5:10").value();
  load.command.goal.bounds = {{0.5, absl::Seconds(20)}};
  json report = load.Run();
  EXPECT_THAT(report["verdict"].get<std::string>(),
              testing::StartsWith(
                  "The highest rate that meets the goal (99 % within their deadline, p50 <= 20s) is 10.0 requests/s "
                  "(stability unknown: less than 3 s were measured), measured 3 times there: 3 meet "
                  "the goal, p99 "));
  EXPECT_THAT(report["verdict"].get<std::string>(), testing::EndsWith(". No rate missed the goal: the search ends at "
                                                                      "--sweep's HIGH; give a higher one."));
  EXPECT_EQ(report["best_samples"]["taken"], 3);
  EXPECT_EQ(report["points"].size(), 4u);
  EXPECT_LE(report["best_samples"]["p99_ms"][0], report["best_samples"]["p99_ms"][1]);
  EXPECT_EQ(load.outcome, BenchOutcome::kMeasured);
  load.command.goal.bounds = {{0.5, absl::Nanoseconds(1)}};
  report = load.Run();
  EXPECT_EQ(report["verdict"], "Not even 5.0 requests/s meet the goal (99 % within their deadline, p50 <= 1ns).");
  EXPECT_EQ(report["points"].size(), 1u);
  EXPECT_EQ(load.outcome, BenchOutcome::kNothing);
}

// The rate meets its goal the first time by chance, and misses it the second and third time.
TEST(RunBenchAtRates, ASearchRejectsARateThatMeetsTheGoalOnlyOnce) {
  SmallLoad load(2 + 4);
  load.command.find_max = true;
  load.command.sweep = ParseSweepRange("5:10").value();
  load.command.goal.bounds = {{0.5, absl::Seconds(20)}};
  const json report = load.Run();
  EXPECT_EQ(report["points"][1]["goal_met"], true);
  EXPECT_EQ(report["best_per_second"], nullptr);
  EXPECT_EQ(report["verdict"],
            "At no rate did most measurements meet the goal (99 % within their deadline, p50 <= 20s).");
  EXPECT_EQ(load.outcome, BenchOutcome::kNothing);
}

TEST(RunBenchAtRates, ASearchStartsAtTheGivenRateOrAtTen) {
  SmallLoad load(1000);
  load.command.find_max = true;
  load.command.goal.bounds = {{0.5, absl::Seconds(20)}};
  EXPECT_EQ(load.Run(/*points=*/1)["points"][0]["offered_per_second"], 10);
  load.command.rate = 15;
  const json report = load.Run(/*points=*/2);
  EXPECT_EQ(report["points"][0]["offered_per_second"], 15);
  EXPECT_EQ(report["points"][1]["offered_per_second"], 30) << "without an upper bound the rate must double";
}

TEST(RunBenchAtRates, AnInterruptedSearchIsIncomplete) {
  SmallLoad load(1000);
  load.command.find_max = true;
  load.command.sweep = ParseSweepRange("5:20").value();
  load.command.goal.bounds = {{0.5, absl::Seconds(20)}};
  const json report = load.Run(/*points=*/1);
  EXPECT_EQ(report["complete"], false);
  EXPECT_EQ(report["best_per_second"], 5);
  EXPECT_EQ(
      report["verdict"],
      "Incomplete: the search was interrupted. The highest rate until then that meets the goal (99 % within their "
      "deadline, p50 <= 20s) is 5.0 requests/s (stability unknown: less than 3 s were measured).");
  EXPECT_EQ(load.outcome, BenchOutcome::kInterrupted);
  EXPECT_EQ(load.errors.str().find('\r'), std::string::npos) << "without a terminal no line may be rewritten";
}

}  // namespace
}  // namespace vitrine
