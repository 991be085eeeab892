// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

// Position of the top left corner of the matrix.
constexpr int kLeft = 68, kTop = 62;

MatrixFigure Figure(int rows, int columns, const std::vector<float>& values) {
  return {.rows = rows, .columns = columns, .values = values};
}

TEST(DrawMatrix, DrawsOneSquarePerValue) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const Image image = Seen(DrawMatrix(Figure(2, 3, values)));
  // The matrix is 384 pixels wide and has 3 columns of 128 pixels.
  int before = -1;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      const int x = kLeft + column * 128, y = kTop + row * 128;
      const Rgb corner = At(image, x, y);
      EXPECT_EQ(At(image, x + 127, y + 127), corner) << "a cell must have one colour";
      EXPECT_GT(Brightness(corner), before) << "the brightness must rise with the value";
      before = Brightness(corner);
    }
  }
  EXPECT_EQ(At(image, kLeft, kTop), (Rgb{0, 0, 4})) << "the ends must have the colours of inferno";
  EXPECT_EQ(At(image, kLeft + 383, kTop + 255), (Rgb{252, 255, 164}));
}

TEST(DrawMatrix, ValuesOfBothSignsDivergeAroundZero) {
  const std::vector<float> values = {-2, -1, 0, 1, 2, 0.5f};
  const Image image = Seen(DrawMatrix(Figure(1, 6, values)));
  const auto cell = [&](int column) { return At(image, kLeft + column * 64 + 5, kTop + 5); };
  for (const int channel : cell(2)) EXPECT_NEAR(channel, 246, 1) << "0 must be nearly white";
  EXPECT_GT(cell(0)[2], cell(0)[0] + 100) << "expected blue";
  EXPECT_GT(cell(4)[0], cell(4)[2] + 100) << "expected red";
  // Opposite values have nearly equal luma, so positive and negative values look equally strong.
  const auto luma = [](const Rgb& c) { return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2]; };
  EXPECT_NEAR(luma(cell(0)), luma(cell(4)), 10);
  EXPECT_NEAR(luma(cell(1)), luma(cell(3)), 10);
  EXPECT_GT(luma(cell(1)), luma(cell(0)) + 50);
}

TEST(DrawMatrix, UsesAGivenRange) {
  const std::vector<float> values = {1, 2};
  MatrixFigure figure = Figure(1, 2, values);
  figure.range = ColourRange{.high = 100};
  EXPECT_LT(Brightness(At(Seen(DrawMatrix(figure)), kLeft + 200, kTop)), 40);
  figure.range.reset();
  figure.diverging = true;
  const Rgb red = At(Seen(DrawMatrix(figure)), kLeft + 200, kTop);
  EXPECT_GT(red[0], red[2] + 100) << "positive values must diverge on request";
}

TEST(DrawMatrix, HasAxesATitleAndAColourBar) {
  std::vector<float> values(20 * 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  MatrixFigure figure = Figure(20, 20, values);
  const Image bare = Seen(DrawMatrix(figure));
  figure.title = "Scores before the softmax";
  figure.note = "layer 3";
  figure.row_axis = "queries";
  figure.column_axis = "keys";
  const Image image = Seen(DrawMatrix(figure));
  ASSERT_EQ(image.width, bare.width);
  ASSERT_EQ(image.height, bare.height);
  const int right = kLeft + 400, bottom = kTop + 400;  // the squares are 20 pixels wide
  EXPECT_GT(DarkPixels(image, kLeft, 10, kLeft + 200, 30), 100) << "the title is missing";
  EXPECT_EQ(DarkPixels(bare, kLeft, 10, kLeft + 200, 30), 0);
  EXPECT_GT(DarkPixels(image, kLeft, 34, kLeft + 60, 52), 40) << "the note is missing";
  EXPECT_GT(DarkPixels(image, kLeft + 180, bottom + 26, kLeft + 220, bottom + 46), 40)
      << "the label of the keys is missing below the matrix";
  EXPECT_GT(DarkPixels(image, 4, kTop + 170, 28, kTop + 230), 40) << "the label of the queries is missing on the left";
  EXPECT_EQ(DarkPixels(bare, 4, kTop, 28, bottom), 0);
  // Every second row and column must have a number.
  EXPECT_GT(DarkPixels(bare, kLeft + 2, bottom + 8, kLeft + 18, bottom + 20), 10) << "0";
  EXPECT_EQ(DarkPixels(bare, kLeft + 22, bottom + 8, kLeft + 38, bottom + 20), 0);
  EXPECT_GT(DarkPixels(bare, kLeft + 42, bottom + 8, kLeft + 58, bottom + 20), 10) << "2";
  // The colour bar must be bright at the top, for the largest value, and dark at the bottom.
  EXPECT_GT(Brightness(At(bare, right + 28, kTop + 1)), 600);
  EXPECT_LT(Brightness(At(bare, right + 28, bottom - 2)), 20);
  EXPECT_GT(DarkPixels(bare, right + 44, kTop - 6, right + 90, kTop + 6), 20)
      << "the number 399 is missing at the colour bar";
  EXPECT_GT(DarkPixels(bare, right + 44, bottom - 7, right + 90, bottom + 6), 10) << "0";
}

TEST(DrawMatrix, SmallAndLargeMatricesAreReadable) {
  const std::vector<float> one = {7};
  const Image single = Seen(DrawMatrix(Figure(1, 1, one)));
  EXPECT_EQ(At(single, kLeft, kTop), At(single, kLeft + 383, kTop + 383));
  const std::vector<float> many(1000 * 2, 1);
  const Image wide = Seen(DrawMatrix(Figure(2, 1000, many)));
  EXPECT_GE(wide.width, 1000 + kLeft) << "each value must have at least one pixel";
  EXPECT_LT(wide.height, 250);
}

TEST(DrawMatrix, RefusesTooLargeAndNotFiniteMatrices) {
  const std::vector<float> many(9000), infinite = {INFINITY}, few = {1};
  EXPECT_EQ(DrawMatrix(Figure(9000, 1, many)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawMatrix(Figure(1, 1, infinite)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawMatrix(Figure(2, 2, few)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ComposeMatrix(Figure(1, 1, few), 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ComposeMatrix, HasAtMostItsMaximumSide) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const auto small = ComposeMatrix(Figure(2, 3, values), 100);
  EXPECT_EQ(small->width, 99) << "squares must be whole pixels (33)";
  EXPECT_EQ(small->height, 66);
  EXPECT_EQ(At(*small, 0, 0), At(*small, 32, 32));
  const std::vector<float> many(400 * 200, 1);
  const auto reduced = ComposeMatrix(Figure(400, 200, many), 100);
  EXPECT_EQ(reduced->width, 50);
  EXPECT_EQ(reduced->height, 100);
}

TEST(WithNames, PutsNamesBesideTheSquares) {
  const std::vector<float> values = {0, 1, 1, 0};
  const Image squares = *ComposeMatrix(Figure(2, 2, values), 40);
  const std::vector<std::string> names = {"one", "m"};
  const Image named = WithNames(squares, names, names);
  const int left = named.width - 40, below = named.height - 40;
  EXPECT_GT(left, 10);
  EXPECT_EQ(below, left) << "the same names";
  EXPECT_EQ(At(named, left, 0), At(squares, 0, 0));
  EXPECT_EQ(At(named, left + 39, 39), At(squares, 39, 39));
  const auto ink = [&](int x, int y, int right, int bottom) { return DarkPixels(named, x, y, right, bottom, 500); };
  EXPECT_GT(ink(0, 0, left, 20), ink(0, 20, left, 40)) << "the longer name is that of the first row";
  EXPECT_GT(ink(0, 20, left, 40), 5);
  EXPECT_GT(ink(left, 40, left + 20, named.height), ink(left + 20, 40, named.width, named.height));
  EXPECT_GT(ink(left + 20, 40, named.width, named.height), 5);
  EXPECT_EQ(ink(0, 40, left, named.height), 0);
}

}  // namespace
}  // namespace vitrine
