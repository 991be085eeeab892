// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "trainer/sweep/table.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a grid of two attentions, two lengths and three seeds.
SweepGrid AttentionGrid() {
  SweepGrid grid;
  grid.name = "attention";
  grid.metric = "test/accuracy";
  grid.axes = {"attention", "length"};
  grid.seeds = {1, 2, 3};
  for (const char* attention : {"QKV", "KV"}) {
    for (const char* length : {"16", "64"})
      grid.points.push_back({absl::StrCat(attention, length), {attention, length}});
  }
  return grid;
}

// KV is better than QKV by 0.01 to 0.02. A length of 64 is much worse than 16, by an amount that depends on the seed.
std::vector<PointSummary> AttentionPoints() {
  std::vector<PointSummary> points(4);
  const double scores[4][3] = {{0.90, 0.91, 0.92}, {0.50, 0.61, 0.42}, {0.911, 0.925, 0.933}, {0.52, 0.622, 0.438}};
  for (size_t i = 0; i < 4; ++i) {
    for (uint64_t seed = 1; seed <= 3; ++seed) points[i].seeds.push_back({seed, scores[i][seed - 1], 1});
  }
  return points;
}

// Values are from scipy 1.17.1: ttest_1samp([0.011, 0.015, 0.013, 0.02, 0.012, 0.018], 0) and its confidence_interval,
// and the p of ttest_1samp([-0.40, -0.30, -0.50, -0.391, -0.303, -0.495], 0).
TEST(Effects, ArePairedOverSettingsAndSeeds) {
  const std::vector<ValueEffect> effects = EffectsOf(AttentionGrid(), AttentionPoints());
  ASSERT_EQ(effects.size(), 4u);
  EXPECT_EQ(effects[0].value, "QKV");
  EXPECT_NEAR(effects[0].mean, (0.90 + 0.91 + 0.92 + 0.50 + 0.61 + 0.42) / 6, 1e-12) << "the mean over the grid";
  EXPECT_FALSE(effects[0].test.has_value());
  const PairedTest& kv = *effects[1].test;
  EXPECT_EQ(kv.difference.n, 6);
  EXPECT_NEAR(kv.difference.mean, 0.014833333333333332, 1e-12);
  EXPECT_NEAR(kv.difference.interval->low, 0.011113137029458011, 1e-9);
  EXPECT_NEAR(kv.difference.interval->high, 0.018553529637208653, 1e-9);
  EXPECT_NEAR(kv.p, 0.00015187229397151068, 1e-9);
  EXPECT_EQ(kv.finding, Finding::kAbove);
  const PairedTest& length = *effects[3].test;
  EXPECT_NEAR(length.p, 0.00010273999075591522, 1e-9);
  EXPECT_EQ(length.p_holm, 2 * length.p) << "both axes are one table";
  EXPECT_EQ(length.finding, Finding::kBelow);
}

TEST(Effects, UseOnlyCompletePairs) {
  std::vector<PointSummary> points = AttentionPoints();
  points[0].seeds.erase(points[0].seeds.begin());
  points[3].seeds.clear();
  const std::vector<ValueEffect> effects = EffectsOf(AttentionGrid(), points);
  EXPECT_EQ(effects[0].runs, 5);
  EXPECT_EQ(effects[1].runs, 3);
  EXPECT_EQ(effects[1].test->difference.n, 2) << "QKV at 16 and KV at 16 share two seeds";
  EXPECT_EQ(effects[1].test->finding, Finding::kUndecided);
  EXPECT_TRUE(EffectsOf(SweepGrid(), {}).empty());
}

TEST(Effects, OmitAxesWithOneValue) {
  SweepGrid grid = AttentionGrid();
  for (SweepPoint& point : grid.points) point.labels = {point.labels[0] + point.labels[1], "same"};
  EXPECT_EQ(EffectsOf(grid, AttentionPoints()).size(), 4u) << "those of the other axis";
}

TEST(Effects, AreListedBelowTheTableOfPoints) {
  SweepGrid grid = AttentionGrid();
  const std::string text = SweepTable(grid, AttentionPoints(), SweepFormat::kTable);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("attention  KV        6                 72.48      6       +1.48      +1.11   +1.86  0.0002"),
            HasSubstr("better"), HasSubstr("worse"), HasSubstr("corrected for 2 comparisons"), Not(HasSubstr("MARGIN")),
            Not(HasSubstr("SIGNS"))));
  EXPECT_THAT(SweepTable(grid, AttentionPoints(), SweepFormat::kMarkdown),
              AllOf(HasSubstr("## Differences"), HasSubstr("| attention | KV | 6 |")));
  grid.lower_is_better = true;
  EXPECT_EQ(EffectsTable(grid, EffectsOf(grid, AttentionPoints())).AsJson()[1]["shown"], "worse");
}

TEST(Effects, CanBeEquivalentWithAMargin) {
  SweepGrid grid = AttentionGrid();
  grid.margin = 0.02;
  const auto json = EffectsTable(grid, EffectsOf(grid, AttentionPoints())).AsJson();
  EXPECT_EQ(json[1]["shown"], "equivalent");
  EXPECT_EQ(json[3]["shown"], "worse");
  EXPECT_THAT(SweepTable(grid, AttentionPoints(), SweepFormat::kTable), HasSubstr("is within 2 percentage points"));
}

TEST(Effects, ShowSignsAndNeededPairsForFewPairs) {
  SweepGrid grid = AttentionGrid();
  grid.axes = {"attention"};
  std::vector<PointSummary> points = AttentionPoints();
  for (SweepPoint& point : grid.points) point.labels.pop_back();
  grid.points.erase(grid.points.begin() + 1, grid.points.begin() + 3);
  points.erase(points.begin() + 1, points.begin() + 3);
  points[1] = points[0];
  points[1].seeds[0].score += 0.02;
  points[1].seeds[1].score -= 0.01;
  points[1].seeds[2].score += 0.012;
  const std::vector<ValueEffect> effects = EffectsOf(grid, points);
  const auto json = EffectsTable(grid, effects).AsJson();
  EXPECT_EQ(json[1]["shown"], "undecided");
  EXPECT_EQ(json[1]["p_sign"], 1);
  EXPECT_GT(json[1]["pairs_needed"], 3);
  EXPECT_THAT(SweepTable(grid, points, SweepFormat::kTable),
              AllOf(HasSubstr("P, SIGNS"), HasSubstr("below 6 pairs, only if all differences have one sign")));
}

}  // namespace
}  // namespace vitrine
