#include "report/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>

#include "imaging/decode.h"

namespace vitrine {
namespace {

using Rgb = std::array<int, 3>;

Image Flat(int width, int height, Rgb colour) {
  Image image{.width = width, .height = height, .channels = 3, .pixels = {}};
  for (int i = 0; i < width * height; ++i) {
    for (const int channel : colour) image.pixels.push_back(static_cast<uint8_t>(channel));
  }
  return image;
}

v1::Rectangle Rectangle(float left, float top, float width, float height) {
  v1::Rectangle rectangle;
  rectangle.set_left(left);
  rectangle.set_top(top);
  rectangle.set_width(width);
  rectangle.set_height(height);
  return rectangle;
}

Rgb At(const Image& image, int x, int y) {
  const size_t first = (static_cast<size_t>(y) * image.width + x) * 3;
  return {image.pixels[first], image.pixels[first + 1], image.pixels[first + 2]};
}

int Brightness(const Rgb& colour) {
  return std::accumulate(colour.begin(), colour.end(), 0);
}

Image Overlay(const Image& picture, const SpatialMap& map, int max_side = 1024) {
  const auto png = DrawOverlay(picture, map, max_side);
  EXPECT_TRUE(png.ok()) << png.status();
  const auto image = Decode(*png);
  EXPECT_TRUE(image.ok()) << image.status();
  return *image;
}

Image Matrix(int rows, int columns, const std::vector<float>& values) {
  const auto png = DrawMatrix(rows, columns, values);
  EXPECT_TRUE(png.ok()) << png.status();
  const auto image = Decode(*png);
  EXPECT_TRUE(image.ok()) << image.status();
  return *image;
}

constexpr Rgb kGreen = {20, 160, 40};

TEST(DrawOverlay, BrightCellsLieWhereTheirValuesAre) {
  // 3x4 cells of 100 pixels; one value stands out.
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
  const std::vector<float> values = {-3, 5};
  const Image image = Overlay(Flat(400, 200, {100, 100, 100}), {1, 2, values, Rectangle(0, 0, 400, 200)});
  // 0.55 of inferno's ends, (0, 0, 4) and (252, 255, 164), and 0.45 of grey 100.
  const Rgb low = At(image, 20, 100), high = At(image, 380, 100);
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(low[channel], (std::array{45, 45, 47})[channel], 2);
    EXPECT_NEAR(high[channel], (std::array{184, 185, 135})[channel], 2);
  }
}

TEST(DrawOverlay, OnlyTheCoveredPartIsColoured) {
  const std::vector<float> values = {1, 2, 3, 4};
  const Image image = Overlay(Flat(400, 300, kGreen), {2, 2, values, Rectangle(50, 0, 300, 300)});
  const Rgb dimmed = {7, 56, 14};  // 0.35 of the picture's own colour
  for (const auto& [x, y] : {std::pair{0, 0}, {49, 150}, {350, 150}, {399, 299}}) {
    for (int channel = 0; channel < 3; ++channel) EXPECT_NEAR(At(image, x, y)[channel], dimmed[channel], 1) << x;
  }
  const Rgb frame = {255, 255, 255};
  for (const auto& [x, y] : {std::pair{50, 150}, {349, 150}, {200, 0}, {200, 299}})
    EXPECT_EQ(At(image, x, y), frame) << x;
  EXPECT_NE(At(image, 52, 150), dimmed);
}

TEST(DrawOverlay, ScalesTheRectangleWithThePicture) {
  // 32x16 pixels are shown eight times as large.
  const std::vector<float> values = {1, 2};
  const Image image = Overlay(Flat(32, 16, kGreen), {1, 2, values, Rectangle(4, 0, 24, 16)});
  ASSERT_EQ(image.width, 256);
  ASSERT_EQ(image.height, 128);
  EXPECT_EQ(At(image, 32, 64), (Rgb{255, 255, 255}));
  EXPECT_EQ(At(image, 223, 64), (Rgb{255, 255, 255}));
  EXPECT_NEAR(At(image, 31, 64)[1], 56, 1);
  EXPECT_NEAR(At(image, 224, 64)[1], 56, 1);
}

TEST(DrawOverlay, KeepsWithinTheLargestSide) {
  const std::vector<float> values = {1, 2};
  const Image image = Overlay(Flat(3000, 1000, kGreen), {1, 2, values, Rectangle(0, 0, 3000, 1000)});
  EXPECT_EQ(image.width, 1024);
  EXPECT_EQ(image.height, 341);
  EXPECT_EQ(Overlay(Flat(3000, 1000, kGreen), {1, 2, values, Rectangle(0, 0, 3000, 1000)}, 300).width, 300);
  const Image thin = Overlay(Flat(5000, 1, kGreen), {1, 2, values, Rectangle(0, 0, 5000, 1)});
  EXPECT_EQ(thin.width, 1024);
  EXPECT_EQ(thin.height, 1);
}

TEST(DrawOverlay, TakesGreyPicturesAndFlatMaps) {
  const Image grey{.width = 28, .height = 28, .channels = 1, .pixels = std::vector<uint8_t>(28 * 28, 200)};
  const std::vector<float> values(49, 0.02f);
  const Image image = Overlay(grey, {7, 7, values, Rectangle(0, 0, 28, 28)});
  EXPECT_EQ(image.width, 256);
  EXPECT_EQ(At(image, 20, 20), At(image, 200, 130)) << "a map without differences shows one";
}

TEST(DrawOverlay, RefusesWhatItCannotDraw) {
  const Image picture = Flat(40, 30, kGreen);
  const std::vector<float> values = {1, 2};
  const std::vector<float> not_finite = {1, std::numeric_limits<float>::quiet_NaN()};
  const v1::Rectangle whole = Rectangle(0, 0, 40, 30);
  for (const SpatialMap& map :
       {SpatialMap{2, 2, values, whole}, SpatialMap{0, 0, {}, whole}, SpatialMap{1, 2, not_finite, whole},
        SpatialMap{1, 2, values, Rectangle(0, 0, 0, 0)}, SpatialMap{1, 2, values, Rectangle(10, 0, 40, 30)},
        SpatialMap{1, 2, values, Rectangle(-5, 0, 40, 30)}}) {
    EXPECT_EQ(DrawOverlay(picture, map).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(DrawOverlay(Image(), {1, 2, values, whole}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawOverlay(picture, {1, 2, values, whole}, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DrawMatrix, DrawsOneSquarePerValue) {
  const Image image = Matrix(2, 3, {0, 1, 2, 3, 4, 5});
  ASSERT_EQ(image.width, 3 * 86);
  ASSERT_EQ(image.height, 2 * 86);
  int before = -1;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      const Rgb corner = At(image, column * 86, row * 86);
      EXPECT_EQ(At(image, column * 86 + 85, row * 86 + 85), corner) << "a cell has one colour";
      EXPECT_GT(Brightness(corner), before) << "brightness follows the value";
      before = Brightness(corner);
    }
  }
}

TEST(DrawMatrix, SignedValuesAreBlueAndRedAroundWhite) {
  const Image image = Matrix(1, 3, {-2, 0, 2});
  const Rgb negative = At(image, 5, 5), zero = At(image, 100, 5), positive = At(image, 250, 5);
  EXPECT_GT(negative[2], negative[0] + 30);
  EXPECT_GT(positive[0], positive[2] + 30);
  for (const int channel : zero) EXPECT_GT(channel, 200);
}

TEST(DrawMatrix, RefusesTooLargeAndNotFinite) {
  EXPECT_EQ(DrawMatrix(9000, 1, std::vector<float>(9000)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawMatrix(1, 1, std::vector<float>{INFINITY}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawMatrix(2, 2, std::vector<float>{1}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
