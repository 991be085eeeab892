// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/proportion.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

// Values are from proportion_confint(k, n, method="wilson") of statsmodels 0.15.0. 81 of 263 and 15 of 148 are
// Newcombe's examples (1998, Statistics in Medicine 17, 857-872) with the intervals 0.2553 to 0.3662 and 0.0624 to
// 0.1605.
TEST(WilsonInterval, AgreesWithStatsmodels) {
  const struct {
    int64_t successes, trials;
    double low, high;
  } kRows[] = {{0, 10, 0, 0.27753279986288926},
               {10, 10, 0.7224672001371106, 1},
               {7893, 10000, 0.7811968265625489, 0.7971809919801776},
               {1, 1, 0.2065493143772374, 1},
               {81, 263, 0.2552885198782742, 0.36620957698280004},
               {15, 148, 0.06238639953073628, 0.16048724172330803}};
  for (const auto& row : kRows) {
    const Interval interval = WilsonInterval(row.successes, row.trials);
    EXPECT_NEAR(interval.low, row.low, 1e-12) << row.successes << " of " << row.trials;
    EXPECT_NEAR(interval.high, row.high, 1e-12) << row.successes << " of " << row.trials;
  }
  EXPECT_EQ(WilsonInterval(0, 10).low, 0) << "the end must be exact";
  EXPECT_EQ(WilsonInterval(10, 10).high, 1) << "the end must be exact";
}

TEST(WilsonInterval, IsZeroToOneWithoutTrials) {
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

}  // namespace
}  // namespace vitrine
