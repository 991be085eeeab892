// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/drawing/lettering.h"
#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

constexpr Rgb kWhite = {255, 255, 255};

// Returns a figure with tiles of 60x40 pixels. The red value of a tile encodes its position.
SheetFigure TwoByThree() {
  SheetFigure figure{.title = "Class attention", .note = "cat", .rows = {"layer 0", "layer 1"}};
  figure.columns = {"head 0", "head 1", "head 2"};
  for (int i = 0; i < 6; ++i) figure.tiles.push_back(Flat(60, 40, {40 * i, 0, 200}));
  return figure;
}

// Returns the position of the first pixel with this colour, row by row. This pixel is the top left corner of the tile.
std::pair<int, int> Find(const Image& image, const Rgb& colour) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (At(image, x, y) == colour) return {x, y};
    }
  }
  ADD_FAILURE() << "no pixel has this colour";
  return {0, 0};
}

TEST(DrawSheet, HeadsAreColumnsAndLayersRows) {
  const Image image = Seen(DrawSheet(TwoByThree()));
  const auto [left, top] = Find(image, {0, 0, 200});
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      const auto [x, y] = Find(image, {40 * (row * 3 + column), 0, 200});
      EXPECT_EQ(x, left + column * 68) << "tiles must be 60 pixels wide with gaps of 8";
      EXPECT_EQ(y, top + row * 48);
      EXPECT_EQ(At(image, x + 59, y + 39), At(image, x, y));
      EXPECT_EQ(At(image, x + 60, y), kWhite);
    }
  }
  for (int row = 0; row < 2; ++row) {
    EXPECT_GT(DarkPixels(image, 10, top + row * 48 + 10, left - 4, top + row * 48 + 30), 40)
        << "no caption of layer " << row;
  }
  for (int column = 0; column < 3; ++column) {
    EXPECT_GT(DarkPixels(image, left + column * 68, top - 22, left + column * 68 + 60, top - 2), 40)
        << "no caption of head " << column;
  }
}

TEST(DrawSheet, HasAColourBar) {
  SheetFigure figure = TwoByThree();
  const Image bare = Seen(DrawSheet(figure));
  EXPECT_EQ(DarkPixels(bare, 16, 60, bare.width, 78, 700), 0) << "a sheet without a range must have no colour bar";
  figure.range = ColourRange{.high = 0.125};
  const Image sequential = Seen(DrawSheet(figure));
  figure.range->diverging = true;
  const Image diverging = Seen(DrawSheet(figure));
  // The colour bar is 120 pixels wide, between its low and its high number, with a gap on each side. Its middle is at y
  // = 69.
  const int low = 24 + TextWidth("0", 10), signed_low = 24 + TextWidth("-0.125", 10);
  EXPECT_LT(Brightness(At(sequential, low + 2, 69)), 60);
  EXPECT_GT(Brightness(At(sequential, low + 117, 69)), 600);
  EXPECT_GT(At(diverging, signed_low + 2, 69)[2], At(diverging, signed_low + 2, 69)[0] + 100);
  EXPECT_GT(Brightness(At(diverging, signed_low + 60, 69)), 720);
  EXPECT_GT(At(diverging, signed_low + 117, 69)[0], At(diverging, signed_low + 117, 69)[2] + 100);
  EXPECT_GT(DarkPixels(sequential, 16, 62, low - 8, 76), 10) << "the low number is missing";
  EXPECT_GT(DarkPixels(sequential, low + 126, 62, low + 170, 76), 30) << "the high number is missing";
}

TEST(DrawSheet, ShowsTheImageAndCentersSmallerTiles) {
  SheetFigure figure = TwoByThree();
  const Image flat = Flat(200, 100, {1, 250, 3});
  figure.image = &flat;
  figure.tiles[1] = Flat(20, 10, {9, 9, 9});
  figure.tiles[2] = Image();
  const Image image = Seen(DrawSheet(figure));
  EXPECT_EQ(At(image, 18, 18), (Rgb{1, 250, 3}));
  EXPECT_EQ(At(image, 16 + 63, 16 + 31), (Rgb{1, 250, 3})) << "the image must be 64 pixels wide and keep its aspect";
  const auto [left, top] = Find(image, {0, 0, 200});
  EXPECT_EQ(At(image, left + 68 + 20, top + 15), (Rgb{9, 9, 9}));
  EXPECT_EQ(At(image, left + 68 + 19, top + 15), kWhite);
  EXPECT_EQ(At(image, left + 2 * 68 + 30, top + 20), kWhite) << "a position without a tile must stay white";
}

TEST(DrawSheet, RefusesAWrongNumberOrKindOfTiles) {
  SheetFigure figure = TwoByThree();
  figure.tiles.pop_back();
  EXPECT_EQ(DrawSheet(figure).status().message(), "a sheet of 2x3 places cannot have 5 tiles");
  figure.tiles.push_back({.width = 2, .height = 2, .channels = 1, .pixels = {1, 2, 3, 4}});
  EXPECT_EQ(DrawSheet(figure).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawSheet({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SheetTileSide, LimitsTheSizeOfTheSheet) {
  EXPECT_EQ(SheetTileSide(1, 1), 224);
  EXPECT_EQ(SheetTileSide(12, 12), 166);
  EXPECT_EQ(SheetTileSide(24, 4), 100);
  EXPECT_EQ(SheetTileSide(1, 100), 96);
}

}  // namespace
}  // namespace vitrine
