// SPDX-License-Identifier: Apache-2.0
#include "trainer/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ProgressState kState = {.step = 25,
                              .total_steps = 80,
                              .steps_per_epoch = 10,
                              .loss = 1.2345,
                              .accuracy = 0.551,
                              .images_per_second = 132.4,
                              .wait_share = 0.012,
                              .remaining = absl::Seconds(750.7),
                              .samples_in_words = "images"};

TEST(ProgressLine, HasEpochLossSpeedAndRemainingTime) {
  EXPECT_EQ(ProgressLine(kState), "epoch 3/8  31 %  loss 1.234  acc 55.1 %  132 images/s  12m30s left  data wait 1 %");
  ProgressState last = kState;
  last.step = 80;
  EXPECT_THAT(ProgressLine(last), HasSubstr("epoch 8/8  100 %"));
}

TEST(ProgressLine, OmitsAMissingAccuracy) {
  ProgressState state = kState;
  state.accuracy = std::numeric_limits<double>::quiet_NaN();
  state.samples_in_words = "sentences";
  EXPECT_EQ(ProgressLine(state), "epoch 3/8  31 %  loss 1.234  132 sentences/s  12m30s left  data wait 1 %");
}

TEST(MeasuringLine, HasProgressAndRemainingTime) {
  EXPECT_EQ(MeasuringLine("test 24x24", "images", 2500, 10000, absl::Seconds(4)),
            "measuring test 24x24  25 %  2,500 of 10,000 images  12s left");
  EXPECT_EQ(MeasuringLine("test", "images", 0, 10, absl::ZeroDuration()),
            "measuring test  0 %  0 of 10 images  0 left");
}

TEST(Progress, PlainLinesArePrintedAtIntervals) {
  std::ostringstream out;
  Progress progress(out, /*is_terminal=*/false);
  const absl::Time start = absl::FromUnixSeconds(1000);
  for (int second = 0; second < 65; ++second) progress.Update(kState, start + absl::Seconds(second));
  progress.Finish();
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "at 0, 30 and 60 seconds";
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(Progress, TheBarIsRedrawnBelowOtherLines) {
  std::ostringstream out;
  Progress progress(out, /*is_terminal=*/true);
  const absl::Time start = absl::FromUnixSeconds(1000);
  progress.Update(kState, start);
  progress.Update(kState, start + absl::Milliseconds(100));  // too soon after the first call, so not drawn
  const std::string bar = out.str();
  EXPECT_THAT(bar, HasSubstr("[========                ]"));
  EXPECT_EQ(std::count(bar.begin(), bar.end(), '\r'), 1);
  progress.Line("epoch 2 done");
  EXPECT_THAT(out.str(), HasSubstr("\r\033[Kepoch 2 done\n"));
}

}  // namespace
}  // namespace vitrine
