// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/share_bars.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "absl/strings/str_format.h"
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
const cv::Scalar kBarColour(170, 200, 232), kBarGround(238, 238, 238);

// Draws the image centred in a square.
void DrawImage(const Image& image, int side, cv::Mat& canvas) {
  const cv::Mat stored(image.height, image.width, image.channels == 1 ? CV_8UC1 : CV_8UC3,
                       const_cast<uint8_t*>(image.pixels.data()));  // read only
  const double scale = static_cast<double>(side) / std::max(image.width, image.height);
  const cv::Size size(std::max(1, cvRound(image.width * scale)), std::max(1, cvRound(image.height * scale)));
  cv::Mat shown;
  cv::resize(stored, shown, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_CUBIC);
  if (shown.channels() == 1) cv::cvtColor(shown, shown, cv::COLOR_GRAY2RGB);
  shown.copyTo(canvas(cv::Rect({(side - size.width) / 2, (side - size.height) / 2}, size)));
}

// Draws the bar with its label, which is cut before it reaches the percentage.
void DrawBar(const LabelledShare& share, int top, int side, cv::Mat& canvas) {
  const cv::Rect ground(0, top + (kBarRoom - kBarHeight) / 2, side, kBarHeight);
  cv::rectangle(canvas, ground, kBarGround, cv::FILLED);
  const int width = cvRound(share.share * side);
  if (width > 0) cv::rectangle(canvas, {ground.x, ground.y, width, ground.height}, kBarColour, cv::FILLED);
  const std::string percent = absl::StrFormat("%.1f %%", 100 * share.share);
  const int room = side - TextWidth(percent, kBarWords) - 3 * kWordsMargin;
  std::string label = share.label;
  while (!label.empty() && TextWidth(label, kBarWords) > room) label.pop_back();
  const int middle = top + kBarRoom / 2;
  Write(canvas, label, {kWordsMargin, middle}, {.height = kBarWords, .colour = kInk});
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
  try {
    UseOneThread();
    Image tile = EmptyImage(side, side + kLineRoom + static_cast<int>(shares.size()) * kBarRoom);
    cv::Mat canvas = CanvasOf(tile);
    DrawImage(image, side, canvas);
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
  } catch (const cv::Exception& error) {
    return absl::InternalError(absl::StrFormat("cannot draw the tile: %s", error.what()));
  }
}

}  // namespace vitrine
