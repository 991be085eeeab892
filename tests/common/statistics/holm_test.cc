// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/holm.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

// Computed with multipletests(p, method="holm") of statsmodels 0.15.0.
TEST(HolmAdjusted, AgreesWithStatsmodels) {
  const struct {
    std::vector<double> p, adjusted;
  } kRows[] = {{{0.01, 0.04, 0.03, 0.005}, {0.03, 0.06, 0.06, 0.02}},
               {{0.02}, {0.02}},
               {{0.5, 0.9, 0.4}, {1, 1, 1}},
               {{0.01, 0.02, 0.0201, 0.011}, {0.04, 0.04, 0.04, 0.04}},
               {{1e-06, 0.05, 0.05, 0.2, 1.0}, {5e-06, 0.2, 0.2, 0.4, 1.0}},
               {{0.03, 0.03, 0.001}, {0.06, 0.06, 0.003}}};
  for (const auto& row : kRows) {
    const std::vector<double> adjusted = HolmAdjusted(row.p);
    ASSERT_EQ(adjusted.size(), row.adjusted.size());
    for (size_t i = 0; i < adjusted.size(); ++i) EXPECT_NEAR(adjusted[i], row.adjusted[i], 1e-12) << row.p[i];
  }
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

}  // namespace
}  // namespace vitrine
