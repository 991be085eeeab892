// SPDX-License-Identifier: Apache-2.0
#include "common/charts/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vitrine {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Axis, TicksAreRound) {
  EXPECT_THAT((Axis{.low = 0, .high = 97}.Ticks(6)), ElementsAre(0, 20, 40, 60, 80));
  EXPECT_THAT((Axis{.low = -1.2, .high = 1.1}.Ticks(5)), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT((Axis{.low = 0.0009, .high = 1.3, .logarithmic = true}.Ticks(6)),
              ElementsAre(DoubleNear(1e-3, 1e-9), DoubleNear(1e-2, 1e-9), DoubleNear(0.1, 1e-9), DoubleNear(1, 1e-9)));
  EXPECT_THAT((Axis{.low = 0.9, .high = 11, .logarithmic = true}.Ticks(6)),
              ElementsAre(DoubleEq(1), DoubleEq(2), DoubleEq(5), DoubleEq(10)));
  EXPECT_THAT((Axis{.low = 220, .high = 390, .logarithmic = true}.Ticks(6)), ElementsAre(250, 300, 350))
      << "the range has fewer than two multiples of 1, 2 or 5 times a power of ten";
}

TEST(Axis, MapsItsEndsToPositions) {
  const Axis linear{.low = 2, .high = 4, .from = 100, .to = 50};
  EXPECT_EQ(linear.Place(2), 100);
  EXPECT_EQ(linear.Place(4), 50);
  EXPECT_EQ(linear.Place(3), 75);
  const Axis logarithmic{.low = 1, .high = 100, .logarithmic = true, .from = 0, .to = 10};
  EXPECT_NEAR(logarithmic.Place(10), 5, 1e-12);
}

TEST(AxisOf, IncludesEveryValueAndStartsAtZeroIfItIsNear) {
  const Axis wide = AxisOf({1, 5, std::nan(""), std::numeric_limits<double>::infinity()}, false);
  EXPECT_EQ(wide.low, 0);
  EXPECT_GT(wide.high, 5);
  EXPECT_LT(wide.high, 6);
  const Axis narrow = AxisOf({95, 99}, false);
  EXPECT_GT(narrow.low, 90);
  EXPECT_LT(narrow.low, 95);
  const Axis one = AxisOf({7}, false);
  EXPECT_LT(one.low, 7);
  EXPECT_GT(one.high, 7);
  const Axis logarithmic = AxisOf({0, -1, 0.01, 3}, true);
  EXPECT_GT(logarithmic.low, 0);
  EXPECT_LT(logarithmic.low, 0.01);
  const Axis none = AxisOf({std::nan("")}, false);
  EXPECT_LT(none.low, none.high);
}

TEST(TickText, IsShort) {
  EXPECT_EQ(TickText(0.30000000000000004), "0.3");
  EXPECT_EQ(TickText(25000), "25k");
  EXPECT_EQ(TickText(1500000), "1.5M");
  EXPECT_EQ(TickText(1e-5), "1e-05");
  EXPECT_EQ(TickText(2000), "2000");
}

}  // namespace
}  // namespace vitrine
