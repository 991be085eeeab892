// SPDX-License-Identifier: Apache-2.0
// The program `vitrine bench`: its flags and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "tests/client/shell.h"
#include "tests/client/small_server.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

const std::string kBench = VITRINE_BIN "/vitrine bench --model m ";

grpc::Status Classify(const v1::ClassifyRequest&, v1::ClassifyResponse* response, grpc::ServerContext*) {
  response->add_predictions()->set_probability(1);
  return grpc::Status::OK;
}

TEST(BenchProgram, RefusesFlagsThatWouldDoNothing) {
  const ScratchFolder folder;
  for (const char* flags :
       {"--concurrency 3 --sweep 1:2", "--concurrency 3 --find-max --latency p99=1s", "--concurrency 3 --trace t.csv",
        "--concurrency 3 --rate 5", "--max-attempts 2", "--keepalive 20s", "--duration 0s", "--requests 0",
        "--bytes 16777216", "--server-pid 1073741824", "--find-max", "--find-max --latency p99=1s --good 0",
        "--rate 5 --threads 2 --max-outstanding 1", "--top-k 0", "--attention-kind nothing", "--features rollout"}) {
    const Ran ran = Shell(folder, kBench + flags);
    EXPECT_EQ(ran.exit_code, 2) << flags << "\n" << ran.errors;
    EXPECT_NE(ran.errors, "") << flags;
  }
  EXPECT_THAT(Shell(folder, kBench + "--help").out, testing::Not(HasSubstr("repetitions")));
}

TEST(BenchProgram, ATraceThatIsNoFileIsASentence) {
  const ScratchFolder folder;
  SmallServer server({.classify = Classify});
  for (const char* path : {"/", "/dev/zero", "none.csv"}) {
    const Ran ran = Shell(folder, kBench + "--server " + server.address() + " --trace " + path);
    EXPECT_EQ(ran.exit_code, 1) << ran.errors;
    EXPECT_THAT(ran.errors, HasSubstr(path));
  }
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
  EXPECT_THAT(ran.out, HasSubstr("interrupted; what was measured until then"));
}

}  // namespace
}  // namespace vitrine
