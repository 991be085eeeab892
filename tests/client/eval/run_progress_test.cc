// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Prediction kRight{.label = 1, .guesses = {{1, 0.9f}}};

TEST(RunProgress, SaysNothingAboutTheFirstAnswers) {
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
  EXPECT_THAT(out.str(), HasSubstr("1 of 1"));
}

TEST(RunProgress, IsDrawnWhileNoAnswerComes) {
  std::ostringstream out;
  {
    ProgressDisplay display(out, {.is_terminal = true, .redraw = absl::Milliseconds(100)});
    RunProgress progress(display, 60);
    const absl::Time long_ago = absl::Now() - absl::Minutes(1);
    for (int i = 0; i < 5; ++i) {
      progress.Count(kRight, /*again=*/false);
      progress.Draw(3, long_ago + absl::Seconds(i));
    }
    absl::SleepFor(absl::Milliseconds(1300));  // of the ticker's time
  }
  const std::string drawn = out.str();
  const std::string last = drawn.substr(drawn.rfind('\r'));
  EXPECT_THAT(drawn, HasSubstr("pictures/s")) << "while answers came";
  EXPECT_THAT(last, HasSubstr("5 of 60"));
  EXPECT_THAT(last, Not(HasSubstr("pictures/s"))) << "a rate of former times";
}

}  // namespace
}  // namespace vitrine
