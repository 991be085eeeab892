// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/cubic_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

std::vector<float> RowOf(CubicRows& rows, int y) {
  const std::span<const float> row = rows.Row(y);
  return {row.begin(), row.end()};
}

// The weights are -0.10547, 0.87891, 0.26172 and -0.03516 at a quarter of the way between two cells.
TEST(CubicRows, InterpolatesBetweenTheCentresOfCells) {
  const std::vector<float> step = {0, 1};
  CubicRows across(1, 2, step, {.height = 2, .width = 4});
  const auto expected = ElementsAre(FloatNear(-0.10547f, 1e-4), FloatNear(0.22656f, 1e-4), FloatNear(0.77344f, 1e-4),
                                    FloatNear(1.10547f, 1e-4));
  for (const int y : {0, 1}) EXPECT_THAT(RowOf(across, y), expected);
  CubicRows down(2, 1, step, {.height = 4, .width = 1});
  std::vector<float> column;
  for (int y = 0; y < 4; ++y) column.push_back(down.Row(y)[0]);
  EXPECT_THAT(column, expected);
}

TEST(CubicRows, ReturnsTheCellsAtTheirOwnSize) {
  std::vector<float> values(7 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 11);
  CubicRows same(7, 3, values, {.height = 7, .width = 3});
  for (const int y : {0, 1, 2, 3, 4, 5, 6, 2, 0, 6}) {
    EXPECT_THAT(RowOf(same, y), ElementsAre(values[3 * y], values[3 * y + 1], values[3 * y + 2])) << y;
  }
}

TEST(CubicRows, ReducesAMapToAFewOfItsCells) {
  std::vector<float> values(9 * 9);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  CubicRows reduced(9, 9, values, {.height = 3, .width = 3});
  EXPECT_THAT(RowOf(reduced, 0), ElementsAre(10, 13, 16));
  EXPECT_THAT(RowOf(reduced, 2), ElementsAre(64, 67, 70));
}

}  // namespace
}  // namespace vitrine
