// SPDX-License-Identifier: Apache-2.0
// Tests sums and broadcasts between real processes, and what happens if a process dies.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/paths.h"
#include "tests/test_environment.h"
#include "tests/trainer/scale_out/processes.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Ranks = std::vector<std::unique_ptr<Process>>;

constexpr char kWorker[] = VITRINE_TESTS "/exchange_worker";

std::unique_ptr<Process> Start(std::vector<std::string> job, const std::map<std::string, std::string>& environment) {
  job.insert(job.begin(), kWorker);
  return std::make_unique<Process>(job, environment);
}

Ranks StartAll(int count, const std::vector<std::string>& job, int port = FreePort()) {
  Ranks ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(Start(job, RankOf(rank, count, port)));
  return ranks;
}

void ExpectDone(Ranks& ranks) {
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->Wait(), 0) << rank->output();
    EXPECT_THAT(rank->output(), HasSubstr("done\n"));
  }
}

TEST(Exchange, SumsAndBroadcastsTensorsOfEveryKind) {
  Ranks two = StartAll(2, {"large", "60", "60"});
  ExpectDone(two);
  Ranks three = StartAll(3, {"numbers", "60", "60"});
  ExpectDone(three);
}

TEST(Exchange, AllRanksGetTheSameBits) {
  std::vector<std::string> hashes;
  for (int repeat = 0; repeat < 2; ++repeat) {
    Ranks ranks = StartAll(3, {"fractions", "60", "60"});
    ExpectDone(ranks);
    for (const auto& rank : ranks) hashes.push_back(rank->output().substr(rank->output().find("hash ")));
  }
  for (const std::string& hash : hashes) EXPECT_EQ(hash, hashes[0]);
}

// Ranks sum in an endless loop, and one of them gets the signal. All other ranks must soon end with an error that names
// the rank that got the signal.
void ExpectNamed(int count, int victim, int signal) {
  // A rank that ends is detected long before the answer timeout. A rank that hangs is detected only at the timeout.
  Ranks ranks = StartAll(count, {"for-ever", "60", signal == SIGKILL ? "120" : "8"});
  for (const auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("ten steps")) << rank->output();
  const absl::Time start = absl::Now();
  ranks[victim]->Signal(signal);
  for (int rank = 0; rank < count; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(ranks[rank]->Wait(), 1) << ranks[rank]->output();
    EXPECT_THAT(ranks[rank]->output(),
                AllOf(HasSubstr("\nUNAVAILABLE: "), HasSubstr(absl::StrCat("rank ", rank, " of ", count, " waited")),
                      HasSubstr(absl::StrCat("rank ", victim, " (process ", ranks[victim]->pid(), " on "))));
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

TEST(RankLoss, LossOfTheStoreHostEndsTheOtherRank) {
  ExpectNamed(2, 0, SIGKILL);
}
TEST(RankLoss, LossOfOneOfThreeRanksEndsTheOthers) {
  ExpectNamed(3, 1, SIGKILL);
}
TEST(RankLoss, AStuckWorkerIsNamedAfterTheTimeout) {
  ExpectNamed(2, 1, SIGSTOP);
}
TEST(RankLoss, AStuckHostOfTheStoreIsNamedAfterTheTimeout) {
  ExpectNamed(2, 0, SIGSTOP);
}

TEST(Connect, ErrorNamesTheMissingRanks) {
  auto first = Start({"numbers", "1.5", "5"}, RankOf(0, 4, FreePort()));
  EXPECT_EQ(first->Wait(), 1);
  EXPECT_THAT(first->output(),
              AllOf(HasSubstr("UNAVAILABLE: of 4 ranks, these did not arrive"), HasSubstr(": 1, 2, 3")));
}

TEST(Connect, ErrorNamesAnAddressWithoutAListener) {
  const int port = FreePort();
  auto second = Start({"numbers", "1.5", "5"}, RankOf(1, 2, port));
  EXPECT_EQ(second->Wait(), 1);
  EXPECT_THAT(second->output(), AllOf(HasSubstr("UNAVAILABLE: rank 1 of 2 could not reach the ranks' store at "),
                                      HasSubstr(absl::StrCat("127.0.0.1:", port))));
}

// Simulates a foreign program, which listens on a port but is not a rank.
class Stranger {
 public:
  Stranger() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(socket_, 5), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port = ntohs(address.sin_port);
  }
  ~Stranger() { close(socket_); }
  int port = 0;

 private:
  const int socket_;
};

TEST(Connect, ErrorNamesAPortUsedByAnotherProgram) {
  const Stranger stranger;
  auto host = Start({"numbers", "1", "5"}, RankOf(0, 2, stranger.port));
  auto client = Start({"numbers", "1", "5"}, RankOf(1, 2, stranger.port));
  EXPECT_EQ(host->Wait(), 1);
  EXPECT_THAT(host->output(), HasSubstr(absl::StrCat(
                                  "UNAVAILABLE: rank 0 of 2 could not host the ranks' store on port ", stranger.port)));
  EXPECT_EQ(client->Wait(), 1);
  EXPECT_THAT(client->output(), AllOf(HasSubstr("UNAVAILABLE: "), HasSubstr(absl::StrCat(stranger.port))));
}

TEST(Connect, TwoProcessesWithOneRankAreRefused) {
  const int port = FreePort();
  auto host = Start({"numbers", "12", "5"}, RankOf(0, 3, port));
  auto one = Start({"numbers", "12", "5"}, RankOf(1, 3, port));
  auto other = Start({"numbers", "12", "5"}, RankOf(1, 3, port));
  EXPECT_EQ(host->Wait(), 1);
  EXPECT_EQ(one->Wait(), 1);
  EXPECT_EQ(other->Wait(), 1);
  const std::string both = one->output() + other->output();
  EXPECT_THAT(both, HasSubstr("ALREADY_EXISTS: another process has arrived as rank 1 of 3"));
}

TEST(Connect, RanksWithDifferentSettingsAreRefused) {
  const int port = FreePort();
  auto host = Start({"numbers", "12", "5", "kv-mnist\nseed: 1\nbatch: 8"}, RankOf(0, 2, port));
  auto other = Start({"numbers", "12", "5", "kv-mnist\nseed: 2\nbatch: 8"}, RankOf(1, 2, port));
  EXPECT_EQ(host->Wait(), 1);
  EXPECT_THAT(host->output(), AllOf(HasSubstr("FAILED_PRECONDITION: the ranks do not train the same"),
                                    HasSubstr("; rank 1 (process"), HasSubstr("\"seed: 2\" instead of \"seed: 1\"")));
  EXPECT_EQ(other->Wait(), 1);
  EXPECT_THAT(other->output(), AllOf(HasSubstr("; rank 0 (process"), HasSubstr("\"seed: 1\" instead of \"seed: 2\"")));
  const int another = FreePort();
  auto two = Start({"numbers", "12", "5"}, RankOf(0, 2, another));
  auto three = Start({"numbers", "12", "5"}, RankOf(1, 3, another));
  EXPECT_EQ(two->Wait(), 1);
  EXPECT_THAT(two->output(), HasSubstr("FAILED_PRECONDITION: rank 0"));
  EXPECT_THAT(two->output(), HasSubstr("has WORLD_SIZE=3"));
  EXPECT_EQ(three->Wait(), 1);
}

TEST(Connect, ASingleRankNeedsNoOtherProcess) {
  auto alone = Start({"numbers", "1", "1"}, {{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(alone->Wait(), 0) << alone->output();
  auto half = Start({"numbers", "1", "1"}, {{"RANK", "0"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(half->Wait(), 1);
  EXPECT_THAT(half->output(), HasSubstr("INVALID_ARGUMENT: the environment sets RANK, WORLD_SIZE but not MASTER_ADDR"));
}

TEST(Connect, TheAgentCanHostTheStore) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const c10d::TCPStore agent("127.0.0.1", options);
  // The second attempt uses the store of the first attempt.
  for (const char* attempt : {"0", "1"}) {
    Ranks ranks;
    for (int rank = 0; rank < 2; ++rank) {
      auto environment = RankOf(rank, 2, agent.getPort());
      environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
      environment["TORCHELASTIC_RESTART_COUNT"] = attempt;
      ranks.push_back(Start({"numbers", "20", "20"}, environment));
    }
    ExpectDone(ranks);
  }
}

TEST(Connect, TorchrunCanStartTheRanks) {
  const std::string environment = TestEnvironment();
  if (environment.empty()) GTEST_SKIP() << "there is no torchrun: pip reaches no package index";
  Process agent({environment + "/bin/python", VITRINE_SOURCE "/tests/trainer/scale_out/torchrun.py", "--no-python",
                 "--standalone", "--nproc-per-node=2", kWorker, "numbers", "30", "30"},
                {});
  EXPECT_EQ(agent.Wait(), 0) << agent.output();
  EXPECT_THAT(agent.output(), AllOf(HasSubstr("rank 0 of 2\n"), HasSubstr("rank 1 of 2\n")));
}

}  // namespace
}  // namespace vitrine
