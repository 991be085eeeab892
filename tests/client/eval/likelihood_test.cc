// SPDX-License-Identifier: Apache-2.0
#include "client/eval/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "client/eval/metrics.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

// Returns an evaluation whose probabilities are exact as floats.
Evaluation MadeDistributions() {
  Evaluation made = MadeEvaluation({{0, {{0, 0.75F}, {1, 0.125F}, {2, 0.125F}}},
                                    {0, {{0, 0.5F}, {2, 0.25F}, {1, 0.25F}}},
                                    {0, {{1, 0.625F}, {0, 0.25F}, {2, 0.125F}}},
                                    {1, {{1, 0.875F}, {0, 0.0625F}, {2, 0.0625F}}},
                                    {1, {{2, 0.5F}, {0, 0.25F}, {1, 0.25F}}}});
  for (Prediction& p : made.predictions) p.likelihood = LikelihoodOf(p.guesses, p.label, 3);
  return made;
}

// Computed with scikit-learn 1.9.1 and scipy 1.17.1: log_loss(y, P, labels=[0, 1, 2]), brier_score_loss(y, P,
// labels=[0, 1, 2], scale_by_half=False), and ttest_1samp(values, 0).confidence_interval(0.95) for the values per
// image. The lower bound is clamped to 0.
TEST(Likelihood, MeansAgreeWithScikitLearnAndIntervalsWithScipy) {
  const EvaluationMetrics metrics = ComputeMetrics(MadeDistributions());
  ASSERT_TRUE(metrics.nll.has_value() && metrics.brier.has_value());
  EXPECT_NEAR(metrics.nll->mean, 0.7773898735752061, 1e-7);
  EXPECT_NEAR(metrics.nll->interval->low, 0.04202658160594308, 1e-7);
  EXPECT_NEAR(metrics.nll->interval->high, 1.512753165544469, 1e-7);
  EXPECT_NEAR(metrics.brier->mean, 0.4671875, 1e-7);
  EXPECT_NEAR(metrics.brier->interval->low, 0.0, 1e-7);
  EXPECT_NEAR(metrics.brier->interval->high, 1.0093925190384332, 1e-7);
}

TEST(Likelihood, NeedsTheProbabilitiesOfAllClasses) {
  const auto of = [](const std::vector<Guess>& guesses, int32_t label = 0) { return LikelihoodOf(guesses, label, 3); };
  EXPECT_FALSE(of({{0, 0.75F}, {1, 0.25F}}).has_value()) << "a class is missing";
  EXPECT_FALSE(of({{0, 0.5F}, {1, 0.25F}, {1, 0.25F}}).has_value()) << "a class appears twice";
  EXPECT_FALSE(of({{0, 0.5F}, {1, 0.25F}, {3, 0.25F}}).has_value()) << "the model has no such class";
  EXPECT_FALSE(of({{0, 0.5F}, {1, 0.25F}, {-1, 0.25F}}).has_value());
  EXPECT_FALSE(of({{0, 0.9F}, {1, 0.1F}, {2, 0.1F}}).has_value()) << "the probabilities do not sum to 1";
  EXPECT_FALSE(of({{0, 1.5F}, {1, -0.25F}, {2, -0.25F}}).has_value());
  EXPECT_FALSE(of({{0, NAN}, {1, 0.5F}, {2, 0.5F}}).has_value());
  EXPECT_FALSE(of({{0, 0.5F}, {1, 0.25F}, {2, 0.25F}}, 3).has_value()) << "the true class is not in the answer";
  EXPECT_FALSE(of({{0, 0.5F}, {1, 0.25F}, {2, 0.25F}}, -1).has_value());
  EXPECT_FALSE(LikelihoodOf({}, 0, 0).has_value());
  EXPECT_TRUE(of({{0, 0.5F}, {1, 0.25F}, {2, 0.2501F}}).has_value()) << "a rounding error in the sum must be accepted";
  EXPECT_EQ(of({{2, 0.5F}, {0, 0.25F}, {1, 0.25F}})->right, 0.25F) << "the order of the classes must not matter";
}

TEST(Likelihood, AProbabilityOfZeroGivesALimitedScore) {
  const double most = NegativeLogLikelihood({.right = 0, .squares = 1});
  EXPECT_EQ(most, NegativeLogLikelihood({.right = std::numeric_limits<float>::min(), .squares = 1}));
  EXPECT_NEAR(most, 87.3365, 1e-4);
  EXPECT_EQ(BrierScore({.right = 0, .squares = 1}), 2) << "a certain wrong answer";
  EXPECT_EQ(BrierScore({.right = 1, .squares = 1}), 0) << "a certain correct answer";
  EXPECT_EQ(NegativeLogLikelihood({.right = 1, .squares = 1}), 0);
}

TEST(Likelihood, OneAnswerWithoutLikelihoodRemovesTheScores) {
  Evaluation made = MadeDistributions();
  made.predictions[3].likelihood.reset();
  EXPECT_FALSE(ComputeMetrics(made).nll.has_value());
  EXPECT_FALSE(ComputeMetrics(made).brier.has_value());
  made.predictions[3].outcome = Outcome::kRefused;
  EXPECT_TRUE(ComputeMetrics(made).nll.has_value()) << "an image without an answer needs no likelihood";
  EXPECT_FALSE(ComputeMetrics(MadeEvaluation({})).nll.has_value());
}

// Computed with ttest_1samp([1, 2, 4], 0).confidence_interval(0.95) of scipy 1.17.1.
TEST(MeanScore, AgreesWithScipy) {
  const MeanScore score = MeanOf({1, 2, 4}, -10, 10);
  EXPECT_NEAR(score.mean, 7.0 / 3, 1e-12);
  EXPECT_NEAR(score.interval->low, -1.4612497002634255, 1e-12);
  EXPECT_NEAR(score.interval->high, 6.1279163669300925, 1e-12);
}

TEST(MeanScore, OneValueHasNoInterval) {
  EXPECT_FALSE(MeanOf({0.5}, 0, 2).interval.has_value());
  const MeanScore same = MeanOf({0.5, 0.5}, 0, 2);
  EXPECT_EQ(same.interval->low, 0.5);
  EXPECT_EQ(same.interval->high, 0.5);
  const MeanScore wide = MeanOf({0, 2}, 0, 2);
  EXPECT_EQ(wide.interval->low, 0);
  EXPECT_EQ(wide.interval->high, 2);
}

}  // namespace
}  // namespace vitrine
