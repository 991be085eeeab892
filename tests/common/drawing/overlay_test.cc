// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

v1::Rectangle Rectangle(float left, float top, float width, float height) {
  v1::Rectangle rectangle;
  rectangle.set_left(left);
  rectangle.set_top(top);
  rectangle.set_width(width);
  rectangle.set_height(height);
  return rectangle;
}

Image Overlay(const Image& image, const SpatialMap& map, int max_side = 1024) {
  return Seen(DrawOverlay(image, map, {.max_side = max_side, .legend = false}));
}

constexpr Rgb kGreen = {20, 160, 40};

TEST(DrawOverlay, BrightCellsAreAtTheirPositions) {
  // The image has 3x4 cells of 100 pixels. One value is much larger than the others.
  std::vector<float> values(12, 0.1f);
  values[1 * 4 + 2] = 0.9f;
  const Image image = Overlay(Flat(400, 300, kGreen), {3, 4, values, Rectangle(0, 0, 400, 300)});
  ASSERT_EQ(image.width, 400);
  ASSERT_EQ(image.height, 300);
  const Rgb peak = At(image, 250, 150);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      if (row == 1 && column == 2) continue;
      EXPECT_LT(Brightness(At(image, column * 100 + 50, row * 100 + 50)) + 200, Brightness(peak))
          << "row " << row << ", column " << column;
    }
  }
}

TEST(DrawOverlay, ColoursOfTheExtremesAreKnown) {
  const std::vector<float> values = {0, 5};
  const Image image = Overlay(Flat(400, 200, {100, 100, 100}), {1, 2, values, Rectangle(0, 0, 400, 200)});
  // The expected colours are 0.55 times the ends of the colour map inferno, (0, 0, 4) and (252, 255, 164), plus 0.45
  // times grey 100.
  const Rgb low = At(image, 20, 100), high = At(image, 380, 100);
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(low[channel], (std::array{45, 45, 47})[channel], 2);
    EXPECT_NEAR(high[channel], (std::array{184, 185, 135})[channel], 2);
  }
  const std::vector<float> equal(49, 1.0f / 49);
  const Image flat = Overlay(Flat(300, 300, {100, 100, 100}), {7, 7, equal, Rectangle(0, 0, 300, 300)});
  EXPECT_LT(Brightness(At(flat, 21, 21)), 400) << "equal attention must be in the middle of the range";
}

TEST(DrawOverlay, MapsWithACommonRangeHaveEqualColours) {
  const std::vector<float> weak = {0.1f, 0.1f, 0.2f, 0.2f}, strong = {0.2f, 0.2f, 0.8f, 0.8f};
  const ColourRange range = Both(RangeOf(weak), RangeOf(strong));
  const auto draw = [&](const std::vector<float>& values) {
    return Overlay(Flat(400, 200, kGreen),
                   {.rows = 1, .columns = 4, .values = values, .covers = Rectangle(0, 0, 400, 200), .range = range});
  };
  const Image first = draw(weak), second = draw(strong);
  EXPECT_EQ(At(first, 390, 100), At(second, 10, 100)) << "the value 0.2 must have the same colour in both maps";
  EXPECT_GT(Brightness(At(second, 390, 100)), Brightness(At(first, 390, 100)) + 100);
}

TEST(DrawOverlay, OnlyTheCoveredPartIsColoured) {
  const std::vector<float> values = {1, 2, 3, 4};
  const Image image = Overlay(Flat(400, 300, kGreen), {2, 2, values, Rectangle(50, 0, 300, 300)});
  const Rgb dimmed = {7, 56, 14};  // 0.35 times the image's colour
  for (const auto& [x, y] : {std::pair{0, 0}, {49, 150}, {350, 150}, {399, 299}}) {
    for (int channel = 0; channel < 3; ++channel) EXPECT_NEAR(At(image, x, y)[channel], dimmed[channel], 1) << x;
  }
  const Rgb frame = {255, 255, 255};
  for (const auto& [x, y] : {std::pair{50, 150}, {349, 150}, {200, 0}, {200, 299}})
    EXPECT_EQ(At(image, x, y), frame) << x;
  EXPECT_NE(At(image, 52, 150), dimmed);
}

TEST(DrawOverlay, ScalesTheRectangleWithTheImage) {
  // The image of 32x16 pixels is enlarged eight times.
  const std::vector<float> values = {1, 2};
  const Image image = Overlay(Flat(32, 16, kGreen), {1, 2, values, Rectangle(4, 0, 24, 16)});
  ASSERT_EQ(image.width, 256);
  ASSERT_EQ(image.height, 128);
  EXPECT_EQ(At(image, 32, 64), (Rgb{255, 255, 255}));
  EXPECT_EQ(At(image, 223, 64), (Rgb{255, 255, 255}));
  EXPECT_NEAR(At(image, 31, 64)[1], 56, 1);
  EXPECT_NEAR(At(image, 224, 64)[1], 56, 1);
}

TEST(DrawOverlay, RespectsTheMaximumSide) {
  const std::vector<float> values = {1, 2};
  const Image image = Overlay(Flat(3000, 1000, kGreen), {1, 2, values, Rectangle(0, 0, 3000, 1000)});
  EXPECT_EQ(image.width, 1024);
  EXPECT_EQ(image.height, 341);
  EXPECT_EQ(Overlay(Flat(3000, 1000, kGreen), {1, 2, values, Rectangle(0, 0, 3000, 1000)}, 300).width, 300);
  const Image thin = Overlay(Flat(5000, 1, kGreen), {1, 2, values, Rectangle(0, 0, 5000, 1)});
  EXPECT_EQ(thin.width, 1024);
  EXPECT_EQ(thin.height, 1);
}

TEST(DrawOverlay, RefusesInvalidMaps) {
  const Image image = Flat(40, 30, kGreen);
  const std::vector<float> values = {1, 2};
  const std::vector<float> not_finite = {1, std::numeric_limits<float>::quiet_NaN()};
  const v1::Rectangle whole = Rectangle(0, 0, 40, 30);
  for (const SpatialMap& map :
       {SpatialMap{2, 2, values, whole}, SpatialMap{0, 0, {}, whole}, SpatialMap{1, 2, not_finite, whole},
        SpatialMap{1, 2, values, Rectangle(0, 0, 0, 0)}, SpatialMap{1, 2, values, Rectangle(10, 0, 40, 30)},
        SpatialMap{1, 2, values, Rectangle(-5, 0, 40, 30)}}) {
    EXPECT_EQ(DrawOverlay(image, map).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(DrawOverlay(Image(), {1, 2, values, whole}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawOverlay(image, {1, 2, values, whole}, {.max_side = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DrawOverlay, HasAColourBarBelow) {
  const std::vector<float> values = {-1, 3}, positive = {1, 3};
  SpatialMap map{.rows = 1, .columns = 2, .values = values, .covers = Rectangle(0, 0, 400, 200), .diverging = true};
  const Image image = Seen(DrawOverlay(Flat(400, 200, kGreen), map));
  ASSERT_EQ(image.width, 400);
  ASSERT_EQ(image.height, 240);
  const Rgb left = At(image, 36, 213), middle = At(image, 200, 213), right = At(image, 363, 213);
  EXPECT_GT(left[2], left[0] + 100) << "the left end must be blue";
  EXPECT_GT(right[0], right[2] + 100) << "the right end must be red";
  for (const int channel : middle) EXPECT_GT(channel, 235);
  for (const int x : {34, 200, 366}) EXPECT_GT(DarkPixels(image, x - 15, 220, x + 15, 240), 5) << "no number at " << x;
  EXPECT_EQ(ComposeOverlay(Flat(400, 200, kGreen), map, {.legend = false})->height, 200);

  map.diverging = false;
  EXPECT_EQ(Seen(DrawOverlay(Flat(400, 200, kGreen), map)).pixels, image.pixels)
      << "a negative value must have the same effect as `diverging`";
  map.values = positive;
  const Image sequential = Seen(DrawOverlay(Flat(400, 200, kGreen), map));
  EXPECT_LT(Brightness(At(sequential, 36, 213)), 60);
  EXPECT_GT(Brightness(At(sequential, 363, 213)), 600);
  for (const int x : {34, 366}) EXPECT_GT(DarkPixels(sequential, x - 15, 220, x + 15, 240), 5) << "no number at " << x;
  EXPECT_EQ(DarkPixels(sequential, 180, 220, 220, 240), 0);

  map.covers = Rectangle(0, 0, 20, 400);
  const Image narrow = Seen(DrawOverlay(Flat(20, 400, kGreen), map));
  EXPECT_EQ(narrow.width, 240) << "the drawing must be wide enough for the numbers";
  EXPECT_EQ(At(narrow, 10, 100), (Rgb{255, 255, 255})) << "the image must be in the middle";
  EXPECT_NE(At(narrow, 120, 100), (Rgb{255, 255, 255}));
}

TEST(DrawOverlay, HasItsCaption) {
  const std::vector<float> values = {0, 1};
  SpatialMap map{.rows = 1, .columns = 2, .values = values, .covers = Rectangle(0, 0, 256, 200)};
  map.caption = "Attention of the class token, layer 4, mean over heads\nmodel version 3: cat 91.2 %";
  const Image image = Seen(DrawOverlay(Flat(256, 200, kGreen), map));
  ASSERT_EQ(image.width, 256);
  ASSERT_EQ(image.height, 200 + 8 + 3 * 16 + 40) << "the first line of the caption must be wrapped";
  for (const int line : {0, 1, 2}) EXPECT_GT(DarkPixels(image, 0, 208 + 16 * line, 256, 224 + 16 * line), 60) << line;
  EXPECT_EQ(DarkPixels(image, 248, 200, 256, 256), 0) << "no text may exceed the right edge";
}

TEST(DrawOverlay, FramesTheMarkedCell) {
  const std::vector<float> values(12, 0.5f);
  SpatialMap map{.rows = 3, .columns = 4, .values = values, .covers = Rectangle(0, 0, 400, 300), .marked = 6};
  const Image image = Overlay(Flat(400, 300, kGreen), map);
  // The marked cell is in row 1 and column 2, from x = 200 and y = 100. From the edge of the cell inwards, the frame
  // has pixels in black, white, white and black.
  for (const auto& [inset, colour] :
       {std::pair{0, Rgb{0, 0, 0}}, {1, Rgb{255, 255, 255}}, {2, Rgb{255, 255, 255}}, {3, Rgb{0, 0, 0}}}) {
    EXPECT_EQ(At(image, 200 + inset, 150), colour) << inset;
    EXPECT_EQ(At(image, 250, 100 + inset), colour) << inset;
    EXPECT_EQ(At(image, 299 - inset, 150), colour) << inset;
    EXPECT_EQ(At(image, 250, 199 - inset), colour) << inset;
  }
  EXPECT_EQ(At(image, 250, 150), At(image, 50, 50)) << "the frame must not change the inside of the cell";
  map.marked = 12;
  EXPECT_EQ(DrawOverlay(Flat(400, 300, kGreen), map).status().message(), "cell 12 is outside a map of 3x4");
}

// Tests images that are enlarged, reduced, or drawn in their own size, in grey and in colour. A part of the image is
// outside the map.
TEST(ComposeOverlay, TheScaledImageCanBeSharedByAllMaps) {
  const std::vector<float> values = {0, 1, 2, 3}, others = {3, 0, 0, 1};
  for (const auto& [width, height] : {std::pair{2000, 1100}, {90, 120}, {700, 500}}) {
    for (const int channels : {1, 3}) {
      const Image image = Noise(width, height, channels);
      const auto shown = ShownUnderMaps(image);
      ASSERT_TRUE(shown.ok()) << shown.status();
      EXPECT_EQ(shown->channels, 3);
      for (const std::vector<float>& drawn : {values, others}) {
        const SpatialMap map = {2, 2, drawn,
                                Rectangle(10, 0, static_cast<float>(width - 20), static_cast<float>(height))};
        const auto apart = ComposeOnShown(*shown, {height, width}, map);
        ASSERT_TRUE(apart.ok()) << apart.status();
        EXPECT_TRUE(apart->pixels == ComposeOverlay(image, map)->pixels);
      }
    }
  }
}

TEST(ComposeOverlay, ALargeImageIsReducedToTheMeansOfItsPixels) {
  Image image = Flat(2048, 64, {0, 0, 0});
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = i / 3 % 2 == 0 ? 60 : 100;
  const auto shown = ShownUnderMaps(image);
  ASSERT_TRUE(shown.ok()) << shown.status();
  ASSERT_EQ(shown->width, 1024);
  ASSERT_EQ(shown->height, 32);
  for (const uint8_t value : shown->pixels) ASSERT_NEAR(value, 80, 6);
}

}  // namespace
}  // namespace vitrine
