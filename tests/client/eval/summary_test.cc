// SPDX-License-Identifier: Apache-2.0
#include "client/eval/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const Evaluation& evaluation) {
  return SummaryText(evaluation, ComputeMetrics(evaluation), "out");
}

// Returns an evaluation with this number of classes. Images of later classes are classified correctly more often.
Evaluation ByClasses(int classes) {
  std::vector<MadeImage> images;
  for (int i = 0; i < classes; ++i) {
    for (int j = 0; j < classes; ++j) images.push_back({i, {{j <= i ? i : (i + 1) % classes, 0.5f}}});
  }
  return MadeEvaluation(images, MadeLabels(classes));
}

TEST(SummaryText, LeavesOutDefaultValues) {
  EXPECT_EQ(TextOf(MadeEvaluation({{0, {{0, 1.0f}}}, {0, {{0, 1.0f}}}})), &R"(
model       m@3  weights aaaaaaaaaaaa  fp32 cpu
data        imagefolder:pets  test split
images    2 = 2 answered
top-1       100.00 % (34.24 to 100.00)   in brackets 95 % intervals
macro F1    1.0000   calibration error 0.00 %
latency, ms  mean   p50   p90   p99  p99.9   max
  queue      1.00  1.00  1.00  1.00   1.00  1.00
  decode     2.00  2.00  2.00  2.00   2.00  2.00
  compute    3.00  3.00  3.00  3.00   3.00  3.00
  encode     0.10  0.10  0.10  0.10   0.10  0.10
  server     6.10  6.10  6.10  6.10   6.10  6.10
  client     7.00  7.00  7.00  7.00   7.00  7.00
throughput  1.0 images/s over 2.0 s
files       out/{report.html,summary.json,predictions.csv,predictions.jsonl}
)"[1]);
}

TEST(SummaryText, HasTopFiveForMoreThanFiveClasses) {
  EXPECT_THAT(TextOf(ByClasses(5)), Not(HasSubstr("top-5")));
  EXPECT_THAT(TextOf(ByClasses(6)), HasSubstr("top-5 "));
}

TEST(SummaryText, NamesValuesThatAreNotTheDefault) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 1.0f}}}, {0, {{0, 1.0f}}}});
  evaluation.settings.limit = 1;
  evaluation.settings.shard = {2, 2};
  evaluation.predictions[0].attempts = 2;
  evaluation.sessions.push_back({.start = 1001, .end = 1002});
  EXPECT_THAT(TextOf(evaluation), HasSubstr("test split  1 images of it  shard 2/2\n"));
  EXPECT_THAT(TextOf(evaluation), HasSubstr(" over 2.0 s in 2 sessions, 1 sent again\n"));
  evaluation.settings.limit = 9999;
  EXPECT_THAT(TextOf(evaluation), HasSubstr("test split  2 images of it")) << "the set has no more";
  const Evaluation empty = MadeEvaluation({});
  EXPECT_THAT(TextOf(empty), Not(HasSubstr("top-1")));
  EXPECT_THAT(TextOf(MadeEvaluation({{0, {{1, 1.0f}}}})), HasSubstr("top-1       0.00 %"));
}

TEST(SummaryText, NamesTheFiveWeakestClasses) {
  EXPECT_THAT(TextOf(ByClasses(1)), Not(HasSubstr("lowest F1"))) << "a single class must not be listed as the weakest";
  EXPECT_THAT(TextOf(ByClasses(2)), HasSubstr("lowest F1   kind 0 0.667, kind 1 0.800\n"));
  EXPECT_THAT(TextOf(ByClasses(6)),
              HasSubstr("lowest F1   kind 0 0.286, kind 1 0.308, kind 2 0.462, kind 3 0.615, kind 4 0.769\n"));
}

TEST(SummaryJson, HasTheClassesThatOccur) {
  Evaluation evaluation = MadeEvaluation({{0, {{1, 1.0f}}}}, MadeLabels(4));
  const auto json = [&] { return SummaryJson(evaluation, ComputeMetrics(evaluation)); };
  std::vector<std::string> labels;
  const nlohmann::ordered_json first = json();
  for (const auto& one : first["classes"]) labels.push_back(one["label"]);
  EXPECT_THAT(labels, ElementsAre("kind 0", "kind 1")) << "the classes of labels and of answers must be listed";
  EXPECT_TRUE(json()["data"]["limit"].is_null());
  EXPECT_TRUE(json()["data"]["resolution"].is_null());
  EXPECT_FALSE(json()["model"].contains("config"));
  evaluation.settings.limit = 1;
  evaluation.settings.resolution = "8x8";
  evaluation.model.mutable_config()->set_classes(4);
  EXPECT_EQ(json()["data"]["limit"], 1);
  EXPECT_EQ(json()["data"]["resolution"], "8x8");
  EXPECT_EQ(json()["model"]["config"]["classes"], 4);
  EXPECT_EQ(json()["format"], 1);
}

TEST(Summary, HasScoresOfDistributionsOnlyIfTheyAreKnown) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5F}}}, {0, {{0, 0.5F}}}});
  const auto scores = [&] { return SummaryJson(evaluation, ComputeMetrics(evaluation))["scores"]; };
  EXPECT_TRUE(scores()["nll"].is_null());
  EXPECT_TRUE(scores()["brier_interval"].is_null());
  EXPECT_THAT(TextOf(evaluation), Not(HasSubstr("NLL")));
  evaluation.predictions[0].likelihood = Likelihood{.right = 0.5F, .squares = 0.5F};
  evaluation.predictions[1].likelihood = Likelihood{.right = 0.25F, .squares = 0.625F};
  EXPECT_EQ(scores()["nll"], 1.03972);
  EXPECT_EQ(scores()["nll_interval"].dump(), "[0.0,5.44336]");
  EXPECT_EQ(scores()["brier"], 0.8125);
  EXPECT_EQ(scores()["top1_interval"].dump(), "[0.34238,1.0]");
  EXPECT_EQ(scores()["top5_interval"].dump(), "[0.34238,1.0]");
  EXPECT_THAT(TextOf(evaluation), HasSubstr("   NLL 1.0397 (0.0000 to 5.4434)   Brier 0.8125 ("));
}

TEST(WhatIsMissing, NamesThreeImagesForEachReason) {
  Evaluation evaluation = MadeEvaluation(std::vector<MadeImage>(5, {0, {}}));
  for (Prediction& prediction : evaluation.predictions) {
    prediction.outcome = Outcome::kUnreadable;
    prediction.reason = "cut off";
  }
  const auto missing = [&] { return WhatIsMissing(evaluation, ComputeMetrics(evaluation)); };
  EXPECT_THAT(missing(), ElementsAre("5 images were unreadable:\n  cat/0.png: cut off\n  cat/1.png: cut off\n"
                                     "  cat/2.png: cut off\n  and 2 more"));
  evaluation.predictions[3].outcome = Outcome::kAnswered;
  EXPECT_THAT(missing(), ElementsAre(HasSubstr("\n  and 1 more")));
  evaluation.predictions[4].outcome = Outcome::kAnswered;
  EXPECT_THAT(missing(), ElementsAre(testing::EndsWith("\n  cat/2.png: cut off")));
  for (const size_t i : {1u, 2u}) evaluation.predictions[i].outcome = Outcome::kAnswered;
  EXPECT_THAT(missing(), ElementsAre("1 image was unreadable:\n  cat/0.png: cut off"));
  evaluation.expected = 6;
  EXPECT_THAT(missing(), ElementsAre(testing::_, "1 of 6 images were not evaluated"));
}

}  // namespace
}  // namespace vitrine
