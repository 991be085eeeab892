// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/erasing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vitrine {
namespace {

constexpr float kUntouched = 100;

v1::RandomErasing Settings(float probability) {
  v1::RandomErasing settings;
  settings.set_probability(probability);
  return settings;
}

std::vector<float> Erased(const v1::RandomErasing& settings, Size size, int channels, uint64_t sample) {
  std::vector<float> values(static_cast<size_t>(channels) * size.height * size.width, kUntouched);
  CounterRandom random(1, 0, sample);
  EraseAtRandom(settings, size, values, random);
  return values;
}

struct Rectangle {
  int top = 1 << 20, left = 1 << 20, bottom = 0, right = 0, cells = 0;
  int height() const { return bottom - top; }
  int width() const { return right - left; }
};

Rectangle FindRectangle(const std::vector<float>& values, Size size, int channel) {
  Rectangle found;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      if (values[(static_cast<size_t>(channel) * size.height + y) * size.width + x] == kUntouched) continue;
      found.top = std::min(found.top, y);
      found.left = std::min(found.left, x);
      found.bottom = std::max(found.bottom, y + 1);
      found.right = std::max(found.right, x + 1);
      ++found.cells;
    }
  }
  return found;
}

TEST(EraseAtRandom, ReplacesOneRectangleOfEveryChannelByNoise) {
  constexpr Size kSize = {40, 60};
  double sum = 0, square = 0, channels_equal = 0;
  int64_t count = 0;
  double least_area = 1, most_area = 0, least_aspect = 9, most_aspect = 0;
  bool touches_left = false, touches_bottom = false;
  for (int sample = 0; sample < 1500; ++sample) {
    const std::vector<float> values = Erased(Settings(1), kSize, 3, sample);
    const Rectangle first = FindRectangle(values, kSize, 0);
    ASSERT_EQ(first.cells, first.height() * first.width()) << "a full rectangle";
    for (const int channel : {1, 2}) {
      const Rectangle other = FindRectangle(values, kSize, channel);
      EXPECT_EQ(other.cells, first.cells);
      EXPECT_EQ(other.top, first.top);
      EXPECT_EQ(other.left, first.left);
    }
    if (first.cells == 0) continue;
    const double area = first.cells / 2400.0, aspect = static_cast<double>(first.height()) / first.width();
    least_area = std::min(least_area, area), most_area = std::max(most_area, area);
    least_aspect = std::min(least_aspect, aspect), most_aspect = std::max(most_aspect, aspect);
    touches_left |= first.left == 0;
    touches_bottom |= first.bottom == kSize.height;
    const size_t at = static_cast<size_t>(first.top) * kSize.width + first.left;
    channels_equal += values[at] == values[at + 2400];
    for (const float value : values) {
      if (value == kUntouched) continue;
      sum += value, square += value * value, ++count;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(square / count, 1, 0.01);
  EXPECT_EQ(channels_equal, 0) << "every value is drawn by itself";
  EXPECT_NEAR(least_area, 0.02, 0.006);
  EXPECT_NEAR(most_area, 1 / 3.0, 0.02);
  EXPECT_NEAR(least_aspect, 0.3, 0.1);
  EXPECT_NEAR(most_aspect, 1 / 0.3, 0.8);
  EXPECT_TRUE(touches_left);
  EXPECT_TRUE(touches_bottom);
}

TEST(EraseAtRandom, UsesItsProbabilityAndAreas) {
  int erased = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    const std::vector<float> values = Erased(Settings(0.25F), {16, 16}, 1, sample);
    const int cells = FindRectangle(values, {16, 16}, 0).cells;
    erased += cells > 0;
    EXPECT_EQ(FindRectangle(Erased(Settings(0), {16, 16}, 1, sample), {16, 16}, 0).cells, 0);
  }
  EXPECT_NEAR(erased, 500, 80);
  v1::RandomErasing settings = Settings(1);
  settings.set_min_area(0.5F);
  settings.set_max_area(0.5F);
  for (int sample = 0; sample < 100; ++sample) {
    const int cells = FindRectangle(Erased(settings, {64, 64}, 1, sample), {64, 64}, 0).cells;
    EXPECT_TRUE(cells == 0 || std::abs(cells / 4096.0 - 0.5) < 0.02) << cells;
  }
}

TEST(EraseAtRandom, AcceptsInputsTooSmallToErase) {
  for (const Size size : {Size{1, 1}, Size{1, 50}, Size{50, 1}, Size{2, 2}}) {
    for (int sample = 0; sample < 50; ++sample)
      EXPECT_EQ(Erased(Settings(1), size, 3, sample).size(), 3u * size.height * size.width);
  }
}

}  // namespace
}  // namespace vitrine
