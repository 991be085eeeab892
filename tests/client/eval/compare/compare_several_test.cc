// SPDX-License-Identifier: Apache-2.0
// Tests comparisons of several evaluations with one evaluation: p-values that are corrected for the number of
// comparisons, and --fail-if-worse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/eval/compare/compare.h"
#include "client/eval/compare/compare_page.h"
#include "client/eval/compare/compare_print.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns an evaluation of forty cats. The images in [first_wrong, end_wrong) are predicted as dogs.
Evaluation WithMistakes(int64_t version, int first_wrong, int end_wrong) {
  std::vector<MadeImage> images;
  for (int i = 0; i < 40; ++i) images.push_back({0, {{i >= first_wrong && i < end_wrong ? 1 : 0, 0.9F}}});
  Evaluation made = MadeEvaluation(images);
  made.model.set_version(version);
  return made;
}

TEST(CompareAll, DecidesByTheCorrectedTest) {
  const Evaluation first = WithMistakes(1, 0, 0);
  // By the exact test, six additional mistakes have p = 0.03125 and seven have p = 0.015625. Without the correction for
  // several comparisons, both numbers of mistakes would be significant.
  const std::vector<Evaluation> others = {WithMistakes(2, 0, 6), WithMistakes(3, 0, 7), WithMistakes(4, 0, 0)};
  const auto all = CompareAll(first, others);
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<double> p, holm;
  std::vector<bool> worse;
  for (const auto& one : *all) {
    p.push_back(one->test.p);
    holm.push_back(one->holm);
    worse.push_back(IsWorse(*one));
  }
  EXPECT_THAT(p, ElementsAre(0.03125, 0.015625, 1));
  EXPECT_THAT(holm, ElementsAre(0.0625, 0.046875, 1));
  EXPECT_THAT(worse, ElementsAre(false, true, false));
  EXPECT_THAT(VerdictInWords(*(*all)[0]), HasSubstr("No significant difference in accuracy"));
  EXPECT_THAT(
      VerdictInWords(*(*all)[1]),
      HasSubstr("The first is right more often: 7 images are right only in the first, 0 only in the second; p = "
                "0.0156 (McNemar, exact); corrected for 3 comparisons by Holm's method: p = 0.0469."));
  const auto alone = Compare(first, others[0]);
  EXPECT_TRUE(IsWorse(**alone)) << "a single comparison needs no correction";
  EXPECT_THAT(VerdictInWords(**alone), Not(HasSubstr("Holm")));
}

TEST(CompareAll, NamesTheEvaluationThatCannotBeCompared) {
  const Evaluation first = WithMistakes(1, 0, 0);
  std::vector<Evaluation> others = {WithMistakes(2, 0, 6), WithMistakes(3, 0, 7)};
  for (Prediction& prediction : others[1].predictions) prediction.outcome = Outcome::kUnreadable;
  EXPECT_EQ(CompareAll(first, others).status(),
            absl::InvalidArgumentError("with the first, number 3 (m version 3 in fp32): no image was answered in both "
                                       "evaluations; there is nothing to compare"));
}

TEST(IsWorse, ConcernsTheSecondEvaluation) {
  const Evaluation good = WithMistakes(1, 0, 0), bad = WithMistakes(2, 0, 10);
  EXPECT_TRUE(IsWorse(**Compare(good, bad)));
  EXPECT_FALSE(IsWorse(**Compare(bad, good))) << "a better evaluation is not worse";
  EXPECT_FALSE(IsWorse(**Compare(good, WithMistakes(2, 0, 5))))
      << "with p = 0.0625 the evaluation is not significantly worse";
  EXPECT_EQ(WorseInWords(**Compare(good, bad)),
            "m version 2 in fp32 is worse than m version 1 in fp32: right on 75.00 % instead of 100.00 % of 40 images "
            "(-25.00 points, 95 % interval -40.19 to -11.08), p = 0.0020; --fail-if-worse allows no significant loss "
            "at 0.05");
}

TEST(PrintComparisons, HasAGateForEachComparison) {
  const Evaluation first = WithMistakes(1, 0, 0);
  const std::vector<Evaluation> others = {WithMistakes(2, 0, 6), WithMistakes(3, 0, 7)};
  const auto all = CompareAll(first, others);
  ASSERT_TRUE(all.ok());
  const auto json = nlohmann::ordered_json::parse(PrintComparisons(*all, OutputFormat::kJson, true));
  EXPECT_EQ(json["correction"], "Holm");
  ASSERT_EQ(json["comparisons"].size(), 2u);
  EXPECT_EQ(json["comparisons"][1]["mcnemar"]["p"], 0.015625);
  EXPECT_EQ(json["comparisons"][1]["mcnemar"]["p_holm"], 0.03125);
  EXPECT_EQ(json["gates"][1].dump(),
            R"({"name":"not_worse","model":"m version 3 in fp32","required":"p_holm>=0.05 or difference>=0",)"
            R"("measured":{"difference":-0.175,"p":0.015625,"p_holm":0.03125},"passed":false})");
  EXPECT_EQ(json["gates"][0]["passed"], false) << "the correction does not change the larger of two p-values";
  EXPECT_FALSE(nlohmann::json::parse(PrintComparisons(*all, OutputFormat::kJson)).contains("gates"));
  EXPECT_THAT(PrintComparisons(*all, OutputFormat::kCsv),
              HasSubstr(",p,p_holm,shown\nm version 2 in fp32,40,1.0,0.85,"));
}

TEST(PrintComparisons, ASingleComparisonIsPrintedLikePrintComparison) {
  const Evaluation first = WithMistakes(1, 0, 0);
  const std::vector<Evaluation> others = {WithMistakes(2, 0, 6)};
  const auto all = CompareAll(first, others);
  const auto one = Compare(first, others[0]);
  for (const OutputFormat format : {OutputFormat::kTable, OutputFormat::kCsv, OutputFormat::kJson}) {
    EXPECT_EQ(PrintComparisons(*all, format), PrintComparison(**one, format));
  }
  const auto json = nlohmann::json::parse(PrintComparisons(*all, OutputFormat::kJson, true));
  EXPECT_EQ(json["gates"][0]["measured"].dump(), R"({"difference":-0.15,"p":0.03125})");
  EXPECT_EQ(json["gates"][0]["required"], "p>=0.05 or difference>=0");
  EXPECT_FALSE(json["mcnemar"].contains("p_holm"));
}

TEST(Compare, ClassesAreCorrectedForTheirNumber) {
  std::vector<MadeImage> images, worse;
  for (int i = 0; i < 60; ++i) {
    const int label = i % 3;
    images.push_back({label, {{label, 0.9F}}});
    worse.push_back({label, {{label == 0 && i < 18 ? 1 : label, 0.9F}}});  // six more mistakes with label 0
  }
  const Evaluation first = MadeEvaluation(images), second = MadeEvaluation(worse);
  const auto comparison = Compare(first, second);
  const ClassComparison& cats = (*comparison)->classes[0];
  EXPECT_EQ(cats.label, "cat");
  EXPECT_EQ(cats.test.p, 0.03125);
  EXPECT_EQ(cats.holm, 3 * 0.03125);
  EXPECT_EQ((*comparison)->classes[1].holm, 1);
}

// Score differences are paired by image, so the interval of the mean difference is narrower than the intervals of the
// two means.
TEST(Compare, ScoresOfDistributionsArePaired) {
  Evaluation first = WithMistakes(1, 0, 0), second = WithMistakes(2, 0, 0);
  EXPECT_FALSE((*Compare(first, second))->nll.has_value()) << "without likelihoods there is no score";
  for (size_t i = 0; i < first.predictions.size(); ++i) {
    const float right = 0.1F + 0.02F * static_cast<float>(i);
    first.predictions[i].likelihood = Likelihood{.right = right, .squares = 0.5F};
    second.predictions[i].likelihood = Likelihood{.right = right / 2, .squares = 0.5F};
  }
  const auto comparison = Compare(first, second);
  ASSERT_TRUE((*comparison)->nll.has_value());
  EXPECT_NEAR((*comparison)->nll->mean, 0.6931472, 1e-6) << "the second gives half of the probability for every image";
  EXPECT_NEAR((*comparison)->nll->interval->low, 0.6931472, 1e-6);
  EXPECT_THAT(PrintComparison(**comparison, OutputFormat::kTable), HasSubstr("+0.6931"));
  EXPECT_GT((*comparison)->brier->mean, 0);
}

}  // namespace
}  // namespace vitrine
