// SPDX-License-Identifier: Apache-2.0
// Tests the files that vitrine-train leaves in its work folder, and the folder's lock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/trainer/train_program.h"
#include "trainer/watch/history.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using WorkFolder = TrainProgram;

TEST_F(WorkFolder, ASecondTrainingIsRefusedAndNamesTheFirst) {
  RunningTrainer first(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 5000"));
  ASSERT_TRUE(first.WaitFor("train acc")) << first.said();
  for (const char* more : {"--resume", ""}) {
    const Outcome second = Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 ", more));
    EXPECT_EQ(second.exit_code, 1) << second.output;
    EXPECT_THAT(second.output, AllOf(HasSubstr("another training runs in " + work_),
                                     HasSubstr(absl::StrCat("process ", first.process(), " on "))));
  }
  EXPECT_EQ(first.End(SIGKILL), -1);
  const Outcome after = Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 --resume"));
  EXPECT_THAT(after.output, Not(HasSubstr("another training runs"))) << "the lock of a killed process is gone";
}

// With evaluate_every 0, the run measures only at the end. With 1, it measures after each of the two epochs. In both
// cases the curve must contain the last step.
TEST_F(WorkFolder, TheFinalScoreIsTheLastPointOfEveryCurve) {
  for (const char* every : {"0", "1"}) {
    const std::string work = absl::StrCat(work_, "-", every);
    const Outcome run = Trainer(absl::StrCat("run ", recipe_, " --data imagefolder:", data_, " --work ", work,
                                             " --epochs 2 --set evaluate_every=", every));
    ASSERT_EQ(run.exit_code, 0) << run.output;
    const auto result = nlohmann::json::parse(Text(absl::StrCat("work-", every, "/result.json")));
    const auto history = ReadHistory(work);
    ASSERT_TRUE(history.ok()) << history.status();
    ASSERT_EQ(history->rows.size(), 2U);
    const HistoryRow& last = history->rows.back();
    ASSERT_TRUE(last.scores.contains("test_top1")) << every;
    EXPECT_EQ(last.scores.at("test_top1"), result["scores"]["test/top1"]);
    EXPECT_EQ(last.epoch, 2);
    const std::string page = Text(absl::StrCat("work-", every, "/report.html"));
    EXPECT_THAT(page, AllOf(HasSubstr(">training, augmented<"), HasSubstr(">test top1<")));
    std::string events;
    for (const auto& file : std::filesystem::directory_iterator(work + "/tensorboard")) {
      events += Text(std::filesystem::relative(file.path(), folder_.path()));
    }
    EXPECT_THAT(events, HasSubstr("test/top1"));
  }
}

// Other papers report the weights without averaging, or the best epoch on the test split. The result must also have
// these scores.
TEST_F(WorkFolder, TheResultAlsoHasScoresOfOtherProtocols) {
  const Outcome run = Trainer(
      absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 3 --set ema_decay=0.9 ", "--set evaluate_every=1"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto scores = nlohmann::json::parse(Text("work/result.json"))["scores"];
  const auto history = ReadHistory(work_);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->rows.size(), 3U);
  double best = 0;
  for (const HistoryRow& row : history->rows) best = std::max(best, row.scores.at("test_top1"));
  EXPECT_EQ(scores["test-best/top1"], best);
  EXPECT_EQ(scores["test-raw/top1"], history->rows.back().scores.at("test-raw_top1"));
  EXPECT_THAT(run.output, HasSubstr("test-raw top1"));
}

}  // namespace
}  // namespace vitrine
