// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "tests/file_size_limit.h"
#include "tests/read_file.h"
#include "tests/trainer/watch/made_run.h"
#include "trainer/watch/history_writer.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

void Append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

std::unique_ptr<HistoryWriter> OpenWriter(const std::filesystem::path& folder) {
  auto writer = HistoryWriter::Open(folder);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return std::move(writer).value();
}

TEST(History, HasARowForEveryEpochAndIntermediateEvaluation) {
  const ScratchFolder folder;
  Feed(0, kMadeSteps, *OpenWriter(folder.path()));
  const absl::StatusOr<History> history = ReadHistory(folder.path());
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(history->score_columns, ElementsAre("validation_top1", "validation_loss", "test_top1", "test_loss"));
  std::vector<int64_t> steps;
  for (const HistoryRow& row : history->rows) {
    steps.push_back(row.step);
    const StepReport made = MadeStep(row.step);
    EXPECT_EQ(row.epoch, made.epoch);
    EXPECT_EQ(row.lr, made.lr) << "to the last bit";
    if (row.step == 6) {
      EXPECT_TRUE(std::isnan(row.train_accuracy)) << "within an epoch";
      EXPECT_EQ(row.loss, (MadeStep(5).loss + MadeStep(6).loss) / 2) << "since the row before";
    } else {
      EXPECT_EQ(row.train_accuracy, made.epoch_accuracy);
    }
    EXPECT_EQ(row.samples_per_second, 100);
    EXPECT_EQ(row.best, row.step == 6 || row.step == 12);
    EXPECT_EQ(row.scores.size(), row.step == 4 ? 0u : 2u);
  }
  EXPECT_THAT(steps, ElementsAre(4, 6, 8, 12));
  EXPECT_EQ(history->rows[1].scores.at("validation_top1"), 6.0 / 17);
  EXPECT_EQ(history->rows[3].scores.at("test_loss"), 2.0 / 12);
}

TEST(History, TheScoreOfAnEarlierStepIsAddedToItsRow) {
  const ScratchFolder folder;
  const auto writer = OpenWriter(folder.path());
  Feed(0, kMadeSteps, *writer);
  writer->OnScore({.step = 6, .epoch = 1.5, .split = "test", .score = {.measures = {{"top1", 0.25}}}});
  const absl::StatusOr<History> history = ReadHistory(folder.path());
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->rows.size(), 4u);
  EXPECT_EQ(history->rows[1].scores.at("test_top1"), 0.25);
  EXPECT_TRUE(history->rows[1].best);
}

TEST(History, StepsAreReadBackExactly) {
  const ScratchFolder folder;
  Feed(0, kMadeSteps, *OpenWriter(folder.path()));
  const auto rows = ReadSteps(folder.path());
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows.size(), static_cast<size_t>(kMadeSteps));
  for (const StepRow& row : rows->rows) {
    const StepReport made = MadeStep(row.step);
    EXPECT_EQ(row.loss, made.loss);
    EXPECT_EQ(row.lr, made.lr);
    EXPECT_EQ(row.gradient_norm, made.gradient_norm);
  }
}

TEST(History, EveryBlockHasAColumnForItsNorm) {
  const ScratchFolder folder;
  const auto feed = [&](int64_t first, int64_t last) {
    const auto writer = OpenWriter(folder.path());
    writer->OnStart({.step = first, .total_steps = 2, .blocks = {"blocks.0", "blocks.1"}});
    for (int64_t step = first + 1; step <= last; ++step) {
      StepReport report = MadeStep(step);
      report.block_norms = {0.5, static_cast<double>(step)};
      writer->OnStep(report);
    }
  };
  feed(0, 2);
  const std::string whole = ReadFile(StepsFile(folder.path()));
  EXPECT_THAT(whole, StartsWith("step,loss,lr,gradient_norm,blocks.0,blocks.1\n1,"));
  feed(1, 2);
  EXPECT_EQ(ReadFile(StepsFile(folder.path())), whole) << "as a continued run leaves it";
  const auto steps = ReadSteps(folder.path());
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_THAT(steps->blocks, ElementsAre("blocks.0", "blocks.1"));
  EXPECT_THAT(steps->rows.at(1).block_norms, ElementsAre(0.5, 2));
  EXPECT_EQ(LastBlockByFirst(*steps), 3.0);
  EXPECT_EQ(LastBlockByFirst({.blocks = {}, .rows = {{.step = 1}}}), std::nullopt);
}

// The files must equal the files of an uninterrupted run. Tests every step as the last saved step, with a kill at this
// step or up to three steps later.
TEST(History, AContinuedRunGivesTheFilesOfAnUninterruptedRun) {
  const ScratchFolder whole;
  Feed(0, kMadeSteps, *OpenWriter(whole.path()));
  for (int64_t saved = 0; saved <= kMadeSteps; ++saved) {
    for (int64_t killed = saved; killed <= std::min(saved + 3, kMadeSteps); ++killed) {
      const ScratchFolder folder;
      Feed(0, killed, *OpenWriter(folder.path()));
      Append(HistoryFile(folder.path()), "13,3.2");  // simulates a kill within a line
      Append(StepsFile(folder.path()), "13,0.1,0");
      Feed(saved, kMadeSteps, *OpenWriter(folder.path()));
      ASSERT_EQ(ReadFile(HistoryFile(folder.path())), ReadFile(HistoryFile(whole.path()))) << saved << " " << killed;
      ASSERT_EQ(ReadFile(StepsFile(folder.path())), ReadFile(StepsFile(whole.path()))) << saved << " " << killed;
    }
  }
}

// The state of a step is saved before and after its measurement. A run that is killed between these saves measures
// again, even if the measurement was already recorded.
TEST(History, ARepeatedEvaluationGivesTheSameFiles) {
  const ScratchFolder whole;
  Feed(0, kMadeSteps, *OpenWriter(whole.path()));
  for (int64_t step = 1; step <= kMadeSteps; ++step) {
    if (!MadeMeasures(step)) continue;
    for (const bool recorded : {false, true}) {
      const ScratchFolder folder;
      {
        const auto writer = OpenWriter(folder.path());
        Feed(0, step - 1, *writer);
        writer->OnStep(MadeStep(step));
        if (recorded) FeedMeasurement(step, *writer);
      }
      const auto writer = OpenWriter(folder.path());
      Feed(step, kMadeSteps, *writer, /*measures_again=*/true);
      // The column samples_per_second has the speed at the last step. The new process measures again before its first
      // step, so it has no speed for this row. The test replaces the column by the expected value.
      History history = *ReadHistory(folder.path());
      for (HistoryRow& row : history.rows) row.samples_per_second = 100;
      ASSERT_EQ(FormatHistory(history), ReadFile(HistoryFile(whole.path()))) << step << recorded;
      ASSERT_EQ(ReadFile(StepsFile(folder.path())), ReadFile(StepsFile(whole.path()))) << step << recorded;
    }
  }
}

// On a full disk, a state may be saved without the rows of its last steps.
TEST(History, AMeanOverLostStepsIsEmpty) {
  ScratchFolder folder;
  Feed(0, 6, **HistoryWriter::Open(folder.path()));
  std::string warning;
  Feed(8, kMadeSteps, **HistoryWriter::Open(folder.path(), [&](const std::string& text) { warning = text; }), true);
  EXPECT_THAT(warning, HasSubstr("steps.csv lacks 2 of the steps 7 to 8"));
  const auto history = ReadHistory(folder.path());
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->rows.size(), 4u);
  EXPECT_EQ(history->rows[2].step, 8);
  EXPECT_TRUE(std::isnan(history->rows[2].loss) && std::isnan(history->rows[2].lr));
  EXPECT_GT(history->rows[3].loss, 0);
  EXPECT_GT(history->rows[3].lr, 0);
}

TEST(History, ANewRunReplacesTheFiles) {
  const ScratchFolder folder;
  Feed(0, kMadeSteps, *OpenWriter(folder.path()));
  const auto writer = OpenWriter(folder.path());
  EXPECT_EQ(ReadSteps(folder.path())->rows.size(), static_cast<size_t>(kMadeSteps)) << "not before the run starts";
  Feed(0, 0, *writer);
  EXPECT_EQ(ReadHistory(folder.path())->rows.size(), 0u);
  EXPECT_EQ(ReadSteps(folder.path())->rows.size(), 0u);
}

TEST(History, OmitsMissingValues) {
  const ScratchFolder folder;
  StepReport report = MadeStep(4);
  report.epoch_accuracy = std::numeric_limits<double>::quiet_NaN();
  const auto writer = OpenWriter(folder.path());
  writer->OnStep(report);
  writer->OnEpoch({.last = report, .scores = ""});
  EXPECT_THAT(ReadFile(HistoryFile(folder.path())), HasSubstr(",,100,"));
  EXPECT_TRUE(std::isnan(ReadHistory(folder.path())->rows.at(0).train_accuracy));
}

TEST(History, ErrorsNameTheLine) {
  const auto said = [](const std::string& text) { return std::string(ParseSteps(text).status().message()); };
  EXPECT_THAT(said("step,loss\n"), HasSubstr("the header does not begin with step,loss,lr,gradient_norm"));
  EXPECT_THAT(said("step,loss,lr,gradient_norm\n1,2,3,4\n2,x,3,4\n"), HasSubstr("line 3: \"x\" is no number"));
  EXPECT_THAT(said("step,loss,lr,gradient_norm\n1,2,3\n"), HasSubstr("line 2 has 3 fields, the header 4"));
  EXPECT_THAT(said("step,loss,lr,gradient_norm\n5,2,3,4\n5,2,3,4\n"), HasSubstr("does not follow step 5"));
  EXPECT_THAT(std::string(ParseHistory("a,b\n").status().message()), HasSubstr("header does not begin with step"));
  const ScratchFolder folder;
  EXPECT_TRUE(absl::IsNotFound(ReadSteps(folder.path()).status()));
  Append(StepsFile(folder.path()), "what\n");
  const auto opened = HistoryWriter::Open(folder.path());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("steps.csv: the header"));
}

TEST(History, AFullDiskIsReportedOnceAndRowsAreWrittenLater) {
  const ScratchFolder whole, folder;
  Feed(0, kMadeSteps, *OpenWriter(whole.path()));
  std::vector<std::string> said;
  auto writer = HistoryWriter::Open(folder.path(), [&](const std::string& text) { said.push_back(text); });
  ASSERT_TRUE(writer.ok());
  Feed(0, 3, **writer);
  const auto go_on = [&](int64_t first, int64_t last) {
    for (int64_t step = first + 1; step <= last; ++step) {
      (*writer)->OnStep(MadeStep(step));
      FeedMeasurement(step, **writer);
    }
  };
  {
    const FileSizeLimit full(200);
    go_on(3, 7);
    const std::string steps = ReadFile(StepsFile(folder.path()));
    EXPECT_EQ(steps.back(), '\n') << "no torn line";
    EXPECT_TRUE(ParseSteps(steps).ok());
  }
  EXPECT_THAT(said, UnorderedElementsAre(HasSubstr("/steps.csv: File too large; the run continues"),
                                         HasSubstr("/history.csv.new: File too large; the run continues")));
  said.clear();
  go_on(7, kMadeSteps);
  EXPECT_THAT(said, ElementsAre(HasSubstr("written again"), HasSubstr("written again")));
  EXPECT_EQ(ReadFile(StepsFile(folder.path())), ReadFile(StepsFile(whole.path())));
  EXPECT_EQ(ReadFile(HistoryFile(folder.path())), ReadFile(HistoryFile(whole.path())));
}

TEST(History, AnUnwritableFolderIsRefusedBeforeTheFirstStep) {
  const auto opened = HistoryWriter::Open("/proc/nowhere");
  EXPECT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("/proc/nowhere/history.csv"));
}

}  // namespace
}  // namespace vitrine
