// SPDX-License-Identifier: Apache-2.0
// Tests the flags and exit codes of `vitrine bench`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "tests/client/lib/small_server.h"
#include "tests/client/shell.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

const std::string kBench = VITRINE_BIN "/vitrine bench --model m ";

grpc::Status Classify(const v1::ClassifyRequest&, v1::ClassifyResponse* response, grpc::ServerContext*) {
  response->add_predictions()->set_probability(1);
  return grpc::Status::OK;
}

TEST(BenchProgram, RefusesInvalidFlagsAndFlagsWithoutEffect) {
  const ScratchFolder folder;
  for (const char* flags : {"--concurrency 3 --sweep 1:2",
                            "--concurrency 3 --find-max --latency p99=1s",
                            "--concurrency 3 --trace t.csv",
                            "--concurrency 3 --rate 5",
                            "--concurrency 3 --arrivals constant",
                            "--concurrency 3 --max-outstanding 9",
                            "--arrivals constant",
                            "--max-outstanding 9",
                            "--trace t.csv --arrivals constant",
                            "--max-attempts 2",
                            "--keepalive 20s",
                            "--duration 0s",
                            "--duration 169h",
                            "--warmup inf",
                            "--requests 0",
                            "--bytes 16777216",
                            "--find-max",
                            "--require p99",
                            "--sweep 1:2 --require 'p99<=50ms'",
                            "--attention nothing",
                            "--features rollout"}) {
    const Ran ran = Shell(folder, kBench + flags);
    EXPECT_EQ(ran.exit_code, 2) << flags << "\n" << ran.errors;
    EXPECT_NE(ran.errors, "") << flags;
  }
  EXPECT_THAT(Shell(folder, kBench + "--help").out, testing::Not(HasSubstr("repetitions")));
}

TEST(BenchProgram, PrintsNoControlCharactersOfAServer) {
  const ScratchFolder folder;
  SmallServer server({.classify = [](const v1::ClassifyRequest&, v1::ClassifyResponse*, grpc::ServerContext*) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "\x1b[2J\nsecond line");
  }});
  const Ran ran = Shell(folder, kBench + "--server " + server.address());
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("was refused: ?[2J\nsecond line\n"));
}

TEST(BenchProgram, AMissedGateIsAFailureAfterAllFilesAreWritten) {
  const ScratchFolder folder;
  SmallServer server({.classify = Classify});
  const std::string bench =
      kBench + "--server " + server.address() + " --rate 50 --arrivals constant --warmup 0s --duration 500ms ";
  const Ran met = Shell(folder, bench + "--require 'p50<=20s' --require 'errors<=0' --require 'rate>=1'");
  EXPECT_EQ(met.exit_code, 0) << met.errors;
  EXPECT_THAT(met.out, HasSubstr("gate        p50<=20s is met: "));
  EXPECT_EQ(met.errors, "");
  const Ran missed =
      Shell(folder, bench + "--require 'p50<=1ns' --require 'rate>=1e6' --require 'errors<1%' --format json --out out");
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_THAT(missed.errors, HasSubstr("vitrine: the gate p50<=1ns is missed: p50 is "));
  EXPECT_THAT(missed.errors, HasSubstr("vitrine: the gate rate>=1e6 is missed: rate is "));
  EXPECT_THAT(missed.errors, testing::Not(HasSubstr("errors<1%")));
  const auto json = nlohmann::json::parse(missed.out);
  ASSERT_EQ(json["gates"].size(), 3u);
  EXPECT_NEAR(json["gates"][0]["measured"].get<double>(), json["points"][0]["latency_of_due_ms"]["p50"].get<double>(),
              1e-6);
  EXPECT_EQ(json["gates"][2]["passed"], true);
  EXPECT_EQ(nlohmann::json::parse(folder.Read("out/load.json"))["gates"], json["gates"]);
  EXPECT_THAT(folder.Read("out/load.html"), HasSubstr("p50 &lt;=1ns</th>"));
  const Ran refused = Shell(folder, bench + "--require 'top1>=50%'");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors,
              HasSubstr("measures: p50, p90, p95, p99, p99.9, p99.99, p999, rate, goodput, good, errors, "
                        "refused"));
}

TEST(BenchProgram, AnInterruptHasItsOwnExitCode) {
  const ScratchFolder folder;
  std::atomic<int> asked = 0;
  SmallServer server({.classify = [&](const auto& request, auto* response, auto* context) {
    ++asked;
    return Classify(request, response, context);
  }});
  std::thread interrupt([&] {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (asked < 10 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(10));
    kill(std::atoi(folder.Read("pid").c_str()), SIGINT);
  });
  const Ran ran = Shell(folder, "echo $$ >pid; exec " + kBench + "--server " + server.address() +
                                    " --rate 20 --warmup 0s --duration 60s");
  interrupt.join();
  EXPECT_EQ(ran.exit_code, 130) << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("interrupted; results until then"));
}

}  // namespace
}  // namespace vitrine
