// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/share_bars.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

// Returns the length of the bar in row `y` of the tile, which is the number of pixels in the colour of bars.
int BarPixels(const Image& tile, int y) {
  int count = 0;
  for (int x = 0; x < tile.width; ++x) {
    const uint8_t* pixel = &tile.pixels[(static_cast<size_t>(y) * tile.width + x) * 3];
    count += pixel[0] == 170 && pixel[1] == 200 && pixel[2] == 232;
  }
  return count;
}

// Returns the length of the bar in these rows. This is the maximum over the rows, because text hides a part of the bar
// in some rows.
int LongestBar(const Image& tile, int top, int bottom) {
  int longest = 0;
  for (int y = top; y < bottom; ++y) longest = std::max(longest, BarPixels(tile, y));
  return longest;
}

TEST(ShareTile, BarsAreAsLongAsTheirShares) {
  const std::vector<LabelledShare> shares = {{"cat", 0.75}, {"dog", 0.25}, {"", 0}};
  const Image tile = ComposeShareTile(Flat(20, 10, {255, 0, 0}), "9x6 tokens", shares, 200).value();
  EXPECT_EQ(tile.width, 200);
  ASSERT_EQ(tile.height, 200 + 32 + 3 * 20);
  EXPECT_EQ(LongestBar(tile, 232, 252), 150);
  EXPECT_EQ(LongestBar(tile, 252, 272), 50);
  EXPECT_EQ(LongestBar(tile, 272, 292), 0);
}

TEST(ShareTile, TheImageIsScaledToTheSquareWithItsAspect) {
  const Image tile = ComposeShareTile(Flat(40, 10, {255, 0, 0}), "", {}, 100).value();
  const auto red = [&](int x, int y) { return tile.pixels[(static_cast<size_t>(y) * 100 + x) * 3 + 1] == 0; };
  EXPECT_TRUE(red(0, 50) && red(99, 50) && red(50, 40) && red(50, 60));
  EXPECT_FALSE(red(50, 30) || red(50, 70));
}

TEST(ShareTile, InvalidArgumentsAreRefused) {
  const Image image = Flat(4, 4, {1, 2, 3});
  EXPECT_EQ(ComposeShareTile(Image(), "", {}, 200).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ComposeShareTile(image, "", {}, 50).status().code(), absl::StatusCode::kInvalidArgument);
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    const std::vector<LabelledShare> shares = {{"cat", share}};
    EXPECT_EQ(ComposeShareTile(image, "", shares, 200).status().code(), absl::StatusCode::kInvalidArgument) << share;
  }
}

}  // namespace
}  // namespace vitrine
