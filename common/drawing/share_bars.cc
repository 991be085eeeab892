// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/share_bars.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/drawing/canvas.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"

namespace vitrine {
namespace {

constexpr int kLeastTileSide = 96;
constexpr int kLineRoom = 32;   // height of two lines below the image
constexpr int kBarRoom = 20;    // height of a bar and its text
constexpr int kBarHeight = 14;  // height of the bar
constexpr int kBarWords = 9;    // height of capital letters
constexpr int kWordsMargin = 4;
constexpr Colour kBarColour = {170, 200, 232}, kBarGround = {238, 238, 238};

// Draws the bar with its label, which is cut before it reaches the percentage.
void DrawBar(const LabelledShare& share, int top, int side, const Canvas& canvas) {
  Rect bar = {0, top + (kBarRoom - kBarHeight) / 2, side, kBarHeight};
  canvas.Fill(bar, kBarGround);
  bar.width = static_cast<int>(std::lrint(share.share * side));
  canvas.Fill(bar, kBarColour);
  const std::string percent = absl::StrFormat("%.1f %%", 100 * share.share);
  const int room = side - TextWidth(percent, kBarWords) - 3 * kWordsMargin;
  const int middle = top + kBarRoom / 2;
  Write(canvas, FrontWithin(share.label, kBarWords, room), {kWordsMargin, middle},
        {.height = kBarWords, .colour = kInk});
  Write(canvas, percent, {side - kWordsMargin, middle},
        {.height = kBarWords, .colour = kInk, .anchor = Lettering::Anchor::kRight});
}

}  // namespace

absl::StatusOr<Image> ComposeShareTile(const Image& image, const std::string& line,
                                       std::span<const LabelledShare> shares, int side) {
  if (image.width < 1 || image.height < 1 || side < kLeastTileSide) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a tile of %d pixels cannot show an image of %d x %d pixels", side, image.width, image.height));
  }
  if (!std::ranges::all_of(shares, [](const LabelledShare& one) { return one.share >= 0 && one.share <= 1; })) {
    return absl::InvalidArgumentError("a share of a bar is not 0 to 1");
  }
  Image tile = EmptyImage(side, side + kLineRoom + static_cast<int>(shares.size()) * kBarRoom);
  const Canvas canvas(tile);
  const Image scaled = ScaledToSide(image, side);
  canvas.Put(scaled, {(side - scaled.width) / 2, (side - scaled.height) / 2});
  int middle = side + kLineRoom / 4;
  for (const std::string& words : WrapText(line, kBarWords, side)) {
    if (middle < side + kLineRoom) Write(canvas, words, {0, middle}, {.height = kBarWords, .colour = kFaintInk});
    middle += kLineRoom / 2;
  }
  int top = side + kLineRoom;
  for (const LabelledShare& share : shares) {
    if (!share.label.empty()) DrawBar(share, top, side, canvas);
    top += kBarRoom;
  }
  return tile;
}

}  // namespace vitrine
