// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/paired.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace vitrine {
namespace {

using Differences = std::vector<std::vector<double>>;

// Values are from scipy 1.17.1: result = scipy.stats.ttest_1samp(differences, 0), result.pvalue and
// result.confidence_interval(0.95). The p of equivalence is the larger of ttest_1samp(differences, -margin,
// alternative="greater").pvalue and ttest_1samp(differences, margin, alternative="less").pvalue.
TEST(TestPaired, AgreesWithScipy) {
  const struct {
    std::vector<double> differences;
    double mean, deviation, p, low, high, equivalence_p;
  } kRows[] = {{{0.012, 0.008, 0.015, 0.011},
                0.0115,
                0.0028867513459481286,
                0.004124949884635448,
                0.006906534422407303,
                0.016093465577592697,
                0.0005124218498759286},
               {{0.02, -0.01, 0.03, 0.005, 0.004, 0.013, 0.021},
                0.011857142857142858,
                0.013334523756382295,
                0.05685458224503019,
                -0.00047523474479326845,
                0.024189520459078982,
                0.005684685509611673},
               {{-0.3, -0.1, -0.25, -0.2, -0.15, -0.35},
                -0.225,
                0.09354143466934853,
                0.0020023414411332666,
                -0.32316571534901617,
                -0.12683428465098381,
                0.9981249121059087}};
  for (const auto& row : kRows) {
    const PairedTest test = TestPaired(Differences{row.differences}, 0.03).front();
    EXPECT_NEAR(test.difference.mean, row.mean, 1e-12);
    EXPECT_NEAR(test.difference.deviation, row.deviation, 1e-12);
    EXPECT_NEAR(test.p, row.p, 1e-9);
    EXPECT_NEAR(test.difference.interval->low, row.low, 1e-12);
    EXPECT_NEAR(test.difference.interval->high, row.high, 1e-12);
    EXPECT_NEAR(test.equivalence_p, row.equivalence_p, 1e-9);
    EXPECT_EQ(test.p_holm, test.p) << "a single comparison needs no correction";
    EXPECT_EQ(TestPaired(Differences{row.differences}).front().equivalence_p, 1)
        << "without a margin there is no equivalence";
  }
}

TEST(TestPaired, EqualDifferencesCountByTheirSignsOnly) {
  // The three differences are equal except for rounding errors, so a t test cannot use their standard deviation.
  const PairedTest three = TestPaired(Differences{{0.81 - 0.8, 0.82 - 0.81, 0.83 - 0.82}}).front();
  EXPECT_EQ(three.difference.deviation, 0);
  EXPECT_EQ(three.p, 0.25);
  EXPECT_EQ(three.finding, Finding::kUndecided);
  EXPECT_EQ(three.needed, std::nullopt);
  const PairedTest six = TestPaired(Differences{std::vector<double>(6, -0.01)}).front();
  EXPECT_EQ(six.p, 0.03125);
  EXPECT_EQ(six.p, six.sign_p);
  EXPECT_EQ(six.finding, Finding::kBelow);
  EXPECT_EQ(TestPaired(Differences{std::vector<double>(6, 0.0)}).front().p, 1);
  EXPECT_EQ(TestPaired(Differences{std::vector<double>(6, 0.0)}, 0.01).front().finding, Finding::kEquivalent);
}

TEST(TestPaired, FewPairsMustAlsoAgreeInSign) {
  const std::vector<double> five = {0.1, 0.1, 0.1, 0.11, -0.001}, six = {0.1, 0.1, 0.1, 0.11, 0.1, -0.001};
  const PairedTest few = TestPaired(Differences{five}).front(), enough = TestPaired(Differences{six}).front();
  EXPECT_LT(few.p, 0.05);
  EXPECT_EQ(few.sign_p, 0.375);
  EXPECT_EQ(few.finding, Finding::kUndecided);
  EXPECT_EQ(enough.finding, Finding::kAbove);
}

TEST(TestPaired, CorrectsForTheComparisonsOfTheTable) {
  const std::vector<double> some = {0.02, -0.003, 0.03, 0.005, 0.004, 0.013, 0.021};
  const PairedTest alone = TestPaired(Differences{some}).front();
  EXPECT_EQ(alone.finding, Finding::kAbove);
  const std::vector<PairedTest> tests = TestPaired(Differences{some, {0.1, -0.1, 0.1}, {-0.1, 0.1, 0.2}});
  EXPECT_NEAR(tests[0].p_holm, 3 * alone.p, 1e-12);
  EXPECT_EQ(tests[0].finding, Finding::kUndecided);
  EXPECT_GT(tests[0].needed, 7) << "the number of pairs must be that for the corrected level";
}

TEST(TestPaired, EquivalenceMustBeShown) {
  const std::vector<double> wide = {0.02, -0.02, 0.01, -0.01, 0.015, -0.012};
  const PairedTest undecided = TestPaired(Differences{wide}, 0.01).front();
  EXPECT_EQ(undecided.finding, Finding::kUndecided) << "a large p does not show equivalence";
  EXPECT_GT(undecided.needed, 6);
  EXPECT_EQ(TestPaired(Differences{wide}, 0.03).front().finding, Finding::kEquivalent);
}

TEST(TestPaired, IsUndecidedForTwoPairs) {
  const PairedTest test = TestPaired(Differences{{0.1, 0.1001}}, 0.5).front();
  EXPECT_LT(test.p, 0.05);
  EXPECT_LT(test.equivalence_p, 0.05);
  EXPECT_EQ(test.finding, Finding::kUndecided);
}

// A run that diverged has an infinite loss.
TEST(TestPaired, IsUndecidedForScoresThatAreNotFinite) {
  for (const double score : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const PairedTest test = TestPaired(Differences{{0.1, 0.2, 0.3, 0.1, 0.2, 0.3, score}}, 0.01).front();
    EXPECT_EQ(test.finding, Finding::kUndecided);
    EXPECT_FALSE(test.p < 0.05);
  }
}

TEST(TestPaired, IsUndecidedWithoutPairs) {
  for (const std::vector<double>& few : Differences{{}, {0.5}}) {
    const PairedTest test = TestPaired(Differences{few}, 0.9).front();
    EXPECT_EQ(test.p, 1);
    EXPECT_EQ(test.equivalence_p, 1);
    EXPECT_FALSE(test.difference.interval.has_value());
    EXPECT_EQ(test.finding, Finding::kUndecided);
  }
  EXPECT_TRUE(TestPaired({}).empty());
}

// The exact number is the smallest n for which scipy.stats.nct.sf(t.isf(tail, n - 1), n - 1, sqrt(n) * distance /
// deviation) >= 0.8 (scipy 1.17.1).
TEST(PairsNeeded, IsAtMostOneAboveTheExactNumber) {
  const struct {
    double ratio, tail;
    int64_t exact;
  } kRows[] = {{0.5, 0.025, 5}, {1, 0.025, 10},       {2, 0.025, 34},  {5, 0.025, 199},
               {1, 0.05, 8},    {1.5, 0.025 / 6, 31}, {0.1, 0.025, 3}, {20, 0.05 / 3, 3530}};
  for (const auto& row : kRows) {
    const std::optional<int64_t> needed = PairsNeeded(row.ratio, 1, row.tail);
    ASSERT_TRUE(needed.has_value());
    EXPECT_GE(*needed, row.exact) << row.ratio;
    EXPECT_LE(*needed, row.exact + 1) << row.ratio;
  }
  EXPECT_EQ(PairsNeeded(1, 0, 0.025), std::nullopt);
  EXPECT_EQ(PairsNeeded(0, 1, 0.025), std::nullopt);
  EXPECT_EQ(PairsNeeded(1, 1e-4, 0.025), std::nullopt);
}

}  // namespace
}  // namespace vitrine
