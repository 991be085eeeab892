// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A script that replaces the trainer, since this test concerns only the ways in which a run ends. It finds its folder
// and seed in its arguments and records that it ran. If `do-<seed>` exists, it runs that script. It ends with the score
// 0.<seed>, unless `do-<seed>` exits.
constexpr char kProgram[] = R"sh(#!/bin/sh
here=$(dirname "$0")
for argument; do
  [ "$before" = --work ] && work=$argument
  case $argument in seed=*) seed=${argument#seed=};; esac
  before=$argument
done
echo "$seed" >>"$here/ran"
echo "$*" >"$work/arguments"
[ -f "$here/do-$seed" ] && . "$here/do-$seed"
echo "{\"finished\":true,\"program\":\"ours\",\"seconds\":1,\"scores\":{\"test/top1\":0.$seed}}" >"$work/result.json"
)sh";

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    std::ofstream(program_) << kProgram;
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
    v1::Sweep sweep;
    sweep.set_name("test");
    sweep.set_recipe("kv-pos-mnist");
    for (const uint64_t seed : {1, 2, 3, 4}) sweep.add_seeds(seed);
    grid_ = *ExpandSweep(sweep);
    options_.program = program_;
    options_.work = folder_.path() / "work";
    options_.data = "mnist:somewhere";
    options_.data_digest = "0123";
    options_.program_digest = "ours";
    options_.log = &log_;
  }

  void Do(int seed, const std::string& script) const {
    std::ofstream(folder_.path() / absl::StrCat("do-", seed)) << script;
  }
  std::vector<double> Scores(const SweepOutcome& outcome) const {
    std::vector<double> scores;
    for (const auto& result : outcome.results) scores.push_back(result ? result->scores.at("test/top1") : -1);
    return scores;
  }

  ScratchFolder folder_;
  const std::filesystem::path program_ = folder_.path() / "program";
  SweepGrid grid_;
  std::ostringstream log_;
  SweepOptions options_;
};

TEST_F(SweepTest, RunsEveryCellOnce) {
  options_.threads = 3;
  options_.flags = {"--no-cache"};
  const auto outcome = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(Scores(*outcome), ElementsAre(0.1, 0.2, 0.3, 0.4));
  EXPECT_THAT(log_.str(), AllOf(HasSubstr("4 runs (1 settings, 4 seeds), 0 of them finished"), HasSubstr(" running\n"),
                                HasSubstr("[4/4] seed=4:")));
  EXPECT_EQ(folder_.Read("work/cells/seed=2/arguments"),
            absl::StrCat("run kv-pos-mnist --data mnist:somewhere --work ", (options_.work / "cells/seed=2").string(),
                         " --resume --threads 3 --set seed=2 --no-cache\n"));
  const auto again = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->kept, 4u);
  EXPECT_THAT(Scores(*again), ElementsAre(0.1, 0.2, 0.3, 0.4));
  EXPECT_EQ(folder_.Read("ran"), "1\n2\n3\n4\n");
}

TEST_F(SweepTest, ShardsDivideTheRunsAndTheirFoldersCanBeJoined) {
  const std::filesystem::path whole = options_.work;
  for (const int64_t number : {2, 1}) {
    options_.shard = {number, 2};
    options_.work = folder_.path() / absl::StrCat("work-", number);
    const auto outcome = RunSweepGrid(grid_, options_);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_THAT(log_.str(), HasSubstr(absl::StrCat("0 of them finished before; shard ", number, "/2 has 2 others")));
    std::filesystem::copy(options_.work, whole,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::update_existing);
  }
  EXPECT_THAT(log_.str(), HasSubstr("[2/2] seed=4"));
  EXPECT_EQ(folder_.Read("ran"), "2\n4\n1\n3\n");
  options_.shard = {};
  options_.work = whole;
  const auto outcome = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->kept, 4u);
  EXPECT_THAT(Scores(*outcome), ElementsAre(0.1, 0.2, 0.3, 0.4));
}

TEST_F(SweepTest, AFailedRunIsNamedWithItsReasonAndTheOthersFinish) {
  Do(1, "echo begin; echo 'vitrine-train: the loss is not finite' >&2; exit 1\n");
  Do(2, "kill -SEGV $$\n");
  Do(3, "exit 0\n");
  const auto outcome = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(Scores(*outcome), ElementsAre(-1, -1, -1, 0.4));
  ASSERT_EQ(outcome->failures.size(), 3u);
  EXPECT_EQ(outcome->failures[0].cell, "seed=1");
  EXPECT_EQ(outcome->failures[0].reason, "exit code 1: vitrine-train: the loss is not finite");
  EXPECT_THAT(outcome->failures[1].reason, HasSubstr("killed by signal 11 (Segmentation fault)"));
  EXPECT_THAT(outcome->failures[2].reason, HasSubstr("ended without a result"));
  EXPECT_FALSE(outcome->stopped);
  // After the causes of the failures were removed, the sweep repeats only the failed runs.
  for (const int seed : {1, 2, 3}) Do(seed, "");
  std::filesystem::remove(folder_.path() / "ran");
  EXPECT_THAT(Scores(*RunSweepGrid(grid_, options_)), ElementsAre(0.1, 0.2, 0.3, 0.4));
  EXPECT_EQ(folder_.Read("ran"), "1\n2\n3\n");
}

TEST_F(SweepTest, AMissingScoreEndsTheSweepAfterTheFirstRun) {
  grid_.metric = "test/top5";
  const auto outcome = RunSweepGrid(grid_, options_);
  EXPECT_TRUE(absl::IsInvalidArgument(outcome.status())) << outcome.status();
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("no score \"test/top5\"; the runs have test/top1"));
  EXPECT_EQ(folder_.Read("ran"), "1\n");
  grid_.metric = "test/top1";
  EXPECT_EQ(RunSweepGrid(grid_, options_)->kept, 1u);
}

TEST_F(SweepTest, AFolderOfAnotherExperimentIsRefused) {
  ASSERT_TRUE(RunSweepGrid(grid_, options_).ok());
  SweepGrid other = grid_;
  other.cells[2].recipe.set_batch(77);
  const absl::Status status = RunSweepGrid(other, options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("seed=3"), HasSubstr("other settings")));
  other = grid_;
  other.cells[2].recipe.set_description("said otherwise");
  EXPECT_TRUE(RunSweepGrid(other, options_).ok());
}

TEST_F(SweepTest, ARunWithOtherDataFlagsProgramOrThreadsIsRefused) {
  ASSERT_TRUE(RunSweepGrid(grid_, options_).ok());
  const auto refusal = [this](const SweepOptions& options) {
    const absl::Status status = RunSweepGrid(grid_, options).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  };
  SweepOptions other = options_;
  other.data_digest = "4567";
  EXPECT_THAT(refusal(other), AllOf(HasSubstr("seed=1"), HasSubstr("other data (0123, now 4567)")));
  other = options_;
  other.flags = {"--epochs=1"};
  EXPECT_THAT(refusal(other), HasSubstr("other flags (none, now --epochs=1)"));
  other = options_;
  other.program_digest = "theirs";
  EXPECT_THAT(refusal(other), HasSubstr("other program (ours, now theirs)"));
  other = options_;
  other.threads = 2;
  EXPECT_THAT(refusal(other), HasSubstr("other threads (1, now 2)"));
  other = options_;
  other.data = "mnist:elsewhere";
  EXPECT_EQ(RunSweepGrid(grid_, other)->kept, 4u) << "the same data may have moved";
}

TEST_F(SweepTest, ARunInAnEarlierFormatIsRefused) {
  ASSERT_TRUE(RunSweepGrid(grid_, options_).ok());
  std::ofstream(options_.work / "cells/seed=1/experiment.textproto") << PrintRecipe(grid_.cells[0].recipe);
  EXPECT_THAT(std::string(RunSweepGrid(grid_, options_).status().message()),
              AllOf(HasSubstr("unknown data"), HasSubstr("unknown program")));
}

TEST_F(SweepTest, AReplacedProgramEndsTheSweep) {
  Do(2, R"(echo '{"finished":true,"program":"theirs","scores":{"test/top1":0.5}}' >"$work/result.json"; exit 0)");
  const absl::Status status = RunSweepGrid(grid_, options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("seed=2 has the result of another program"));
  EXPECT_EQ(folder_.Read("ran"), "1\n2\n");
}

TEST_F(SweepTest, AStoppedSweepForwardsTheSignalAndCanContinue) {
  Do(2, "trap 'echo stopping; exit 0' TERM; echo ready; while :; do sleep 0.01; done\n");
  bool told = false;
  options_.stop = [&] {
    if (told || folder_.Read("work/cells/seed=2/log.txt").find("ready") == std::string::npos) return 0;
    told = true;
    return SIGTERM;
  };
  const auto outcome = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->stopped);
  EXPECT_TRUE(outcome->failures.empty());
  EXPECT_THAT(Scores(*outcome), ElementsAre(0.1, -1, -1, -1));
  EXPECT_EQ(folder_.Read("work/cells/seed=2/log.txt"), "ready\nstopping\n");
  EXPECT_THAT(log_.str(), Not(HasSubstr("FAILED")));
  Do(2, "");
  options_.stop = nullptr;
  EXPECT_THAT(Scores(*RunSweepGrid(grid_, options_)), ElementsAre(0.1, 0.2, 0.3, 0.4));
}

TEST_F(SweepTest, RunsOfAKilledSweepEndBeforeTheNextSweep) {
  // Like a real run, run 2 needs time to write its state. It prints a line just before it exits.
  Do(2, "trap 'sleep 0.3; echo state written; exit 0' TERM; echo ready; while :; do sleep 0.01; done\n");
  const pid_t sweep = fork();
  if (sweep == 0) {
    RunSweepGrid(grid_, options_).IgnoreError();
    _exit(0);
  }
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (folder_.Read("work/cells/seed=2/log.txt") != "ready\n" && absl::Now() < end)
    absl::SleepFor(absl::Milliseconds(10));
  ASSERT_EQ(kill(sweep, SIGKILL), 0);
  ASSERT_EQ(waitpid(sweep, nullptr, 0), sweep);
  Do(2, "cat \"$work/log.txt\" >\"$here/seen\"\n");
  const auto outcome = RunSweepGrid(grid_, options_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->kept, 1u);
  EXPECT_THAT(Scores(*outcome), ElementsAre(0.1, 0.2, 0.3, 0.4));
  EXPECT_EQ(folder_.Read("seen"), "ready\nstate written\n") << "the next sweep began while a run was still at work";
  EXPECT_THAT(log_.str(), HasSubstr("waiting for the runs of another sweep"));
}

}  // namespace
}  // namespace vitrine
