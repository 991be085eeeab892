// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/colour_range.h"

#include <gtest/gtest.h>

#include <vector>

namespace vitrine {
namespace {

TEST(ColourRange, StartsAtZeroOrIsSymmetric) {
  const std::vector<float> positive = {0.5f, 2}, both = {-3, 1};
  EXPECT_EQ(RangeOf(positive).InWords(), "0 to 2");
  EXPECT_EQ(RangeOf(positive, true).InWords(), "-2 to +2");
  EXPECT_EQ(RangeOf(both).InWords(), "-3 to +3");
  EXPECT_EQ(Both(RangeOf(positive), RangeOf(both)).InWords(), "-3 to +3");
}

TEST(ColourRange, CoversAtLeastTwiceTheEqualShareForAttention) {
  const std::vector<float> equal(10, 0.1f), peaked = {0.9f, 0.1f};
  EXPECT_DOUBLE_EQ(AttentionRange(equal, 10, false).high, 0.2);
  EXPECT_FLOAT_EQ(AttentionRange(peaked, 10, false).high, 0.9f);
  EXPECT_FLOAT_EQ(AttentionRange(equal, 10, true).high, 0.1f) << "the rule must not apply to signed values";
  EXPECT_FLOAT_EQ(AttentionRange(equal, 0, false).high, 0.1f);
}

}  // namespace
}  // namespace vitrine
