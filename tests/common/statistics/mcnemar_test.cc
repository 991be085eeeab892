// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/mcnemar.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

// Computed with scipy 1.17.1 and statsmodels 0.15.0:
//   mcnemar([[700, b], [c, 100]], exact=b + c < 25, correction=True)
TEST(McNemar, AgreesWithStatsmodels) {
  const struct {
    int64_t first, second;
    bool exact;
    double statistic, p;
  } kRows[] = {{1, 9, true, 0, 0.021484375},
               {0, 6, true, 0, 0.03125},
               {12, 12, true, 0, 1},
               {10, 14, true, 0, 0.5412561893463135},
               {9, 16, false, 1.44, 0.23013934044341314},
               {25, 0, false, 23.04, 1.5866563039511885e-06},
               {59, 6, false, 41.6, 1.1199327149542469e-10},
               {101, 121, false, 1.6261261261261262, 0.20223969808664588},
               {300, 412, false, 17.304775280898877, 3.1838574543986845e-05}};
  for (const auto& row : kRows) {
    for (const bool swapped : {false, true}) {
      PairedCounts counts{.both = 700, .only_first = row.first, .only_second = row.second, .neither = 100};
      if (swapped) std::swap(counts.only_first, counts.only_second);
      const McNemar test = TestMcNemar(counts);
      EXPECT_EQ(test.exact, row.exact) << row.first << ", " << row.second;
      EXPECT_NEAR(test.statistic, row.statistic, 1e-9) << row.first << ", " << row.second;
      EXPECT_NEAR(test.p, row.p, 1e-9 * row.p) << row.first << ", " << row.second;
    }
  }
}

TEST(McNemar, IsNotSignificantWithoutDisagreement) {
  EXPECT_EQ(TestMcNemar({.both = 5, .neither = 3}).p, 1);
  EXPECT_EQ(TestMcNemar({}).p, 1);
  // Both counts are equal, so the continuity correction must not create a difference.
  EXPECT_EQ(TestMcNemar({.only_first = 50, .only_second = 50}).p, 1);
}

// The first row is an example of Newcombe (1998, Statistics in Medicine 17, 2635-2650), with the interval 0.0569 to
// 0.3404. The other rows were computed in Python by method 10 with proportion_confint(method="wilson") of statsmodels
// 0.15.0.
TEST(PairedDifference, IsNewcombesMethod10) {
  const struct {
    PairedCounts counts;
    double difference, low, high;
  } kRows[] = {{{36, 2, 12, 0}, 0.2, 0.05692958400323875, 0.3404276029749408},
               {{36, 12, 2, 0}, -0.2, -0.3404276029749408, -0.05692958400323875},
               {{43, 0, 1, 0}, 0.022727272727272707, -0.05971800835089891, 0.11807709698213287},
               {{7000, 300, 412, 2288}, 0.0112, 0.005971356846624307, 0.016433410605272262},
               {{1, 0, 0, 0}, 0, -0.7934506856227626, 0.7934506856227626},
               {{1, 0, 0, 1}, 0, -0.5734194679697171, 0.5734194679697171}};
  for (const auto& row : kRows) {
    EXPECT_NEAR(PairedDifference(row.counts), row.difference, 1e-12);
    const Interval interval = PairedDifferenceInterval(row.counts);
    EXPECT_NEAR(interval.low, row.low, 1e-12) << row.counts.only_first << ", " << row.counts.only_second;
    EXPECT_NEAR(interval.high, row.high, 1e-12) << row.counts.only_first << ", " << row.counts.only_second;
  }
  EXPECT_EQ(PairedDifference({}), 0);
  EXPECT_EQ(PairedDifferenceInterval({}).low, -1);
  EXPECT_EQ(PairedDifferenceInterval({}).high, 1);
}

}  // namespace
}  // namespace vitrine
