// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/run_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Prediction kRight{.label = 1, .guesses = {{1, 0.9f}}};

TEST(RunProgress, IsNotDrawnInTheFirstSecond) {
  std::ostringstream out;
  {
    ProgressDisplay display(out, {.plain_lines = absl::Minutes(10)});
    RunProgress progress(display, 60);
    const absl::Time begin = absl::Now();
    progress.Count(kRight, /*again=*/false);
    progress.Draw(3, begin);
    progress.Count(kRight, /*again=*/false);
    progress.Draw(3, begin + absl::Milliseconds(900));
    EXPECT_EQ(out.str(), "");
    progress.Draw(3, begin + absl::Milliseconds(1100));
    EXPECT_THAT(out.str(), HasSubstr("2 of 60"));
  }
}

TEST(RunProgress, TheEndIsAlwaysDrawn) {
  std::ostringstream out;
  ProgressDisplay display(out, {.plain_lines = absl::Minutes(10)});
  RunProgress progress(display, 1);
  progress.Count(kRight, /*again=*/false);
  progress.DrawEnd(3, absl::Now());
  EXPECT_EQ(out.str(), "1 of 1  100 %  top-1 100.00 %  3 in flight\n");
}

TEST(RunProgress, WithoutImagesTheRunIsComplete) {
  std::ostringstream out;
  ProgressDisplay display(out, {});
  RunProgress(display, 0).DrawEnd(1, absl::Now());
  EXPECT_EQ(out.str(), "0 of 0  100 %  1 in flight\n");
}

// For each pair (second, asked) of `marks`, counts `asked` more images and draws the progress at this second. Returns
// the last printed line.
std::string LastLine(const std::vector<std::pair<int, int>>& marks, int images) {
  std::ostringstream out;
  ProgressDisplay display(out, {.plain_lines = absl::Seconds(1)});
  RunProgress progress(display, images);
  const absl::Time begin = absl::Now() + absl::Hours(1);  // in the future, so that the timer draws nothing
  progress.Count(kRight, /*again=*/true);
  progress.Draw(3, begin);
  for (const auto& [second, asked] : marks) {
    for (int i = 0; i < asked; ++i) progress.Count(kRight, /*again=*/false);
    progress.Draw(3, begin + absl::Seconds(second));
  }
  const std::string said = out.str();
  return said.substr(said.rfind('\n', said.size() - 2) + 1);
}

TEST(RunProgress, TheRateCoversTheLastFifteenSeconds) {
  EXPECT_EQ(LastLine({{10, 100}, {20, 5}, {30, 10}, {40, 30}}, 2146),
            "146 of 2,146  7 %  3.0 images/s  11m6s left  top-1 100.00 %  3 in flight\n")
      << "the rate must cover only the last ten seconds, because the mark before is too old";
  EXPECT_EQ(LastLine({{30, 10}, {40, 20}, {45, 25}}, 96),
            "56 of 96  58 %  3.0 images/s  13s left  top-1 100.00 %  3 in flight\n")
      << "a mark that is exactly fifteen seconds old must count";
  EXPECT_THAT(LastLine({{10, 1}, {20, 100}}, 1000), HasSubstr("  10 images/s  "));
  EXPECT_THAT(LastLine({{10, 1}, {20, 99}}, 1000), HasSubstr("  9.9 images/s  "));
}

TEST(RunProgress, CountsImagesWithoutAnAnswer) {
  std::ostringstream out;
  ProgressDisplay display(out, {});
  RunProgress progress(display, 1000);
  for (const Outcome outcome : {Outcome::kRefused, Outcome::kUnreadable, Outcome::kUnreadable, Outcome::kUnlabelled}) {
    progress.Count({.outcome = outcome}, /*again=*/false);
  }
  progress.DrawWaiting("soon", absl::Now());
  EXPECT_EQ(out.str(), "4 of 1,000  0 %  soon\n");
  out.str("");
  progress.DrawEnd(2, absl::Now());
  EXPECT_EQ(out.str(), "4 of 1,000  0 %  2 in flight  1 refused  2 unreadable  1 unlabelled\n");
}

TEST(RunProgress, WithoutLabelsThereIsNoAccuracy) {
  std::ostringstream out;
  ProgressDisplay display(out, {});
  RunProgress progress(display, 1000);
  progress.Count(Outcome::kAnswered, 40, std::nullopt, /*again=*/true);
  progress.Count(Outcome::kAnswered, 1, std::nullopt, /*again=*/false);
  progress.Count(Outcome::kRefused, 2, std::nullopt, /*again=*/true);
  EXPECT_EQ(progress.asked(), 1);
  progress.DrawEnd(2, absl::Now());
  EXPECT_EQ(out.str(), "43 of 1,000  4 %  2 in flight  2 refused\n");
}

TEST(RunProgress, AnAnswerEndsTheWaitingMessage) {
  std::ostringstream out;
  ProgressDisplay display(out, {.plain_lines = absl::Seconds(1)});
  RunProgress progress(display, 4);
  const absl::Time begin = absl::Now() + absl::Hours(1);
  progress.Draw(3, begin);
  progress.DrawWaiting("soon", begin + absl::Seconds(5));
  EXPECT_EQ(out.str(), "0 of 4  0 %  soon\n");
  out.str("");
  progress.Draw(3, begin + absl::Seconds(10));
  EXPECT_EQ(out.str(), "0 of 4  0 %  3 in flight\n");
}

TEST(RunProgress, IsDrawnWithoutNewAnswers) {
  std::ostringstream out;
  {
    ProgressDisplay display(out, {.is_terminal = true, .redraw = absl::Milliseconds(100)});
    RunProgress progress(display, 60);
    const absl::Time long_ago = absl::Now() - absl::Minutes(1);
    for (int i = 0; i < 5; ++i) {
      progress.Count(kRight, /*again=*/false);
      progress.Draw(3, long_ago + absl::Seconds(i));
    }
    absl::SleepFor(absl::Milliseconds(1300));  // long enough for the timer of the progress display
  }
  const std::string drawn = out.str();
  const std::string last = drawn.substr(drawn.rfind('\r'));
  EXPECT_THAT(drawn, HasSubstr("images/s")) << "there must be a rate while answers arrive";
  EXPECT_THAT(last, HasSubstr("5 of 60"));
  EXPECT_THAT(last, Not(HasSubstr("images/s"))) << "an outdated rate is shown";
}

}  // namespace
}  // namespace vitrine
