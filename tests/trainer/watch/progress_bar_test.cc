// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/trainer/watch/made_run.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(ProgressBar, ShowsStepsInTheTasksWords) {
  std::ostringstream out;
  Progress progress(out, /*is_terminal=*/true);
  ProgressBar bar(progress, "images");
  bar.OnStep(MadeStep(6));
  EXPECT_THAT(out.str(), HasSubstr("[============            ] epoch 2/3  50 %  loss 0.185  acc 46.2 %  100 images/s  "
                                   "54s left  data wait 25 %"));
}

TEST(ProgressBar, TheLineOfAnEpochHasItsScoresAndMarksTheBest) {
  std::ostringstream out;
  Progress progress(out, /*is_terminal=*/false);
  ProgressBar bar(progress, "images");
  bar.OnStep(MadeStep(8));
  bar.OnScore(MadeScore("test", 8));
  bar.OnEpoch({.last = MadeStep(8), .scores = "test top1 47.06 %"});
  EXPECT_THAT(out.str(), HasSubstr("epoch 2.00  loss 0.1513  train acc 61.54 %  lr 0.00013  100 images/s  "
                                   "test top1 47.06 %\n"));
  bar.OnStep(MadeStep(12));
  bar.OnScore(MadeScore("test", 12));
  bar.OnEpoch({.last = MadeStep(12), .scores = "test top1 70.59 %"});
  EXPECT_THAT(out.str(), HasSubstr("test top1 70.59 % (best so far)\n"));
  bar.OnEpoch({.last = MadeStep(12), .scores = "again"});
  EXPECT_THAT(out.str(), HasSubstr("again\n")) << "the mark belongs to one epoch";
}

TEST(ProgressBar, AnIntermediateEvaluationHasItsOwnLine) {
  std::ostringstream out;
  Progress progress(out, /*is_terminal=*/false);
  ProgressBar bar(progress, "images");
  bar.OnScore(MadeScore("validation", 6));  // works without a step, as in a run that is resumed here
  EXPECT_THAT(out.str(), HasSubstr("step 6 (epoch 1.50)  validation top1 35.29 %, loss 0.3333 (best so far)\n"));
}

TEST(ScoreInWords, SharesAreInPercentAndLossesAreNot) {
  Score score;
  score.measures = {{"bleu", 0.331}, {"loss", 0.25}, {"perplexity", 12.5}};
  EXPECT_EQ(ScoreInWords("test", score), "test bleu 33.10 %, loss 0.25, perplexity 12.5");
}

}  // namespace
}  // namespace vitrine
