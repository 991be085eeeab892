// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/sign_test.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

// Values are scipy.stats.binomtest(above, above + below, 0.5).pvalue of scipy 1.17.1.
TEST(SignTest, AgreesWithScipy) {
  const struct {
    int64_t above, below;
    double p;
  } kRows[] = {{5, 0, 0.0625},
               {3, 3, 1},
               {8, 2, 0.109375},
               {700, 600, 0.0060157938610449395},
               {5200, 4800, 6.593515598672343e-05}};
  for (const auto& row : kRows) {
    EXPECT_NEAR(SignTest(row.above, row.below), row.p, 1e-9 * row.p) << row.above << ", " << row.below;
    EXPECT_EQ(SignTest(row.below, row.above), SignTest(row.above, row.below));
  }
  EXPECT_EQ(SignTest(0, 0), 1);
}

}  // namespace
}  // namespace vitrine
