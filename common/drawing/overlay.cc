// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/overlay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/drawing/colours.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/resize.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr double kMapWeight = 0.55;     // weight of the map; the grey image has 1 - kMapWeight
constexpr double kUncovered = 0.35;     // brightness of the image outside the grid
constexpr int kLeastLegendWidth = 240;  // minimum width of colour bar, numbers and caption
constexpr int kLegendBarHeight = 40;    // height of the bar with its numbers
constexpr int kLetters = 9, kLineHeight = 16, kCaptionMargin = 8;
const cv::Scalar kFrame(255, 255, 255);

// Returns the displayed size of an image.
Size ShownSize(const Image& image, const OverlayLook& look) {
  const int longer = std::max(image.width, image.height);
  const double scale = std::min(std::max(longer, look.min_side), look.max_side) / static_cast<double>(longer);
  return {std::max(1, cv::saturate_cast<int>(image.height * scale)),
          std::max(1, cv::saturate_cast<int>(image.width * scale))};
}

Image Enlarged(const Image& image, Size size) {
  Image enlarged{size.width, size.height, image.channels, {}};
  enlarged.pixels.resize(static_cast<size_t>(size.width) * size.height * image.channels);
  const int type = image.channels == 1 ? CV_8UC1 : CV_8UC3;
  const cv::Mat from(image.height, image.width, type, const_cast<uint8_t*>(image.pixels.data()));  // read only
  cv::Mat to(size.height, size.width, type, enlarged.pixels.data());
  cv::resize(from, to, to.size(), 0, 0, cv::INTER_CUBIC);
  return enlarged;
}

Image InColour(Image image) {
  if (image.channels == 3) return image;
  Image colour{image.width, image.height, 3, {}};
  colour.pixels.reserve(3 * image.pixels.size());
  for (const uint8_t grey : image.pixels) colour.pixels.insert(colour.pixels.end(), 3, grey);
  return colour;
}

// Converts `covers`, in pixels of the image, to whole pixels of the displayed image.
cv::Rect CoveredPart(const v1::Rectangle& covers, Size image, cv::Size shown) {
  const double x_scale = static_cast<double>(shown.width) / image.width;
  const double y_scale = static_cast<double>(shown.height) / image.height;
  const cv::Point first(cvRound(covers.left() * x_scale), cvRound(covers.top() * y_scale));
  const cv::Point last(cvRound((covers.left() + covers.width()) * x_scale),
                       cvRound((covers.top() + covers.height()) * y_scale));
  return cv::Rect(first, last) & cv::Rect(cv::Point(), shown);
}

absl::Status CheckImage(const Image& image) {
  if (image.width < 1 || image.height < 1 || (image.channels != 1 && image.channels != 3) ||
      image.pixels.size() != static_cast<size_t>(image.width) * image.height * image.channels) {
    return absl::InvalidArgumentError("the image under the map is empty or incomplete");
  }
  return absl::OkStatus();
}

absl::Status CheckCovers(Size image, const v1::Rectangle& covers) {
  // The server computes positions as float with a division, so a border may be off by a fraction of a pixel.
  const float slack = 0.5f;
  const bool inside = covers.left() >= -slack && covers.top() >= -slack && covers.width() > 0 && covers.height() > 0 &&
                      covers.left() + covers.width() <= image.width + slack &&
                      covers.top() + covers.height() <= image.height + slack;
  if (!inside) {
    return absl::InvalidArgumentError(absl::StrCat("the map covers ", covers.width(), "x", covers.height(), " at (",
                                                   covers.left(), ", ", covers.top(), "), outside the image of ",
                                                   image.width, "x", image.height, " pixels"));
  }
  return absl::OkStatus();
}

absl::Status CheckMarked(const SpatialMap& map) {
  if (map.marked >= 0 && static_cast<size_t>(map.marked) >= map.values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cell ", map.marked, " is outside a map of ", map.rows, "x", map.columns));
  }
  return absl::OkStatus();
}

// Draws a frame that is visible on every colour: white between two black lines.
void MarkCell(cv::Mat canvas, const SpatialMap& map) {
  const int row = map.marked / map.columns, column = map.marked % map.columns;
  const cv::Rect cell(cv::Point(column * canvas.cols / map.columns, row * canvas.rows / map.rows),
                      cv::Point((column + 1) * canvas.cols / map.columns, (row + 1) * canvas.rows / map.rows));
  for (const auto& [inset, colour] : {std::pair{0, cv::Scalar::all(0)},
                                      {1, cv::Scalar::all(255)},
                                      {2, cv::Scalar::all(255)},
                                      {3, cv::Scalar::all(0)}}) {
    const cv::Rect ring(cell.x + inset, cell.y + inset, cell.width - 2 * inset, cell.height - 2 * inset);
    if (ring.width > 0 && ring.height > 0) cv::rectangle(canvas, ring, colour, 1);
  }
}

// Draws the legend: the caption, the colour bar, the numbers at its ends, and 0 if it is in between.
void DrawLegend(cv::Mat canvas, const std::vector<std::string>& caption, const ColourRange& range) {
  for (size_t line = 0; line < caption.size(); ++line) {
    Write(canvas, caption[line],
          {kCaptionMargin, kCaptionMargin + kLineHeight / 2 + static_cast<int>(line) * kLineHeight},
          {.height = kLetters, .colour = kInk});
  }
  const int margin = 34, top = canvas.rows - kLegendBarHeight;
  const cv::Rect bar(margin, top + 8, canvas.cols - 2 * margin, 10);
  ColourBar(range, bar.size(), false).copyTo(canvas(bar));
  cv::rectangle(canvas, bar, kLine, 1);
  const int y = bar.br().y + 11;
  const auto number = [&](double value, int x) {
    Write(canvas, (value > 0 && range.diverging ? "+" : "") + ShortNumber(value), {x, y},
          {.height = kLetters, .colour = kFaintInk, .anchor = Lettering::Anchor::kCentre});
  };
  number(range.low(), bar.x);
  if (range.diverging) number(0, bar.x + bar.width / 2);
  number(range.high, bar.br().x);
}

// Paints in bands of rows, whose intermediate images stay in the cache.
void PaintOver(const cv::Mat& shown, const cv::Mat& values, const ColourRange& range, const cv::Mat& canvas) {
  constexpr int kBand = 64;
  cv::Mat grey;
  for (int top = 0; top < shown.rows; top += kBand) {
    const cv::Range band(top, std::min(top + kBand, shown.rows));
    cv::cvtColor(shown.rowRange(band), grey, cv::COLOR_RGB2GRAY);
    cv::cvtColor(grey, grey, cv::COLOR_GRAY2RGB);
    cv::addWeighted(Paint(values.rowRange(band), range), kMapWeight, grey, 1 - kMapWeight, 0, canvas.rowRange(band));
  }
}

Image Compose(const Image& image_shown, Size image, const SpatialMap& map, const OverlayLook& look) {
  const cv::Mat shown(image_shown.height, image_shown.width, CV_8UC3,
                      const_cast<uint8_t*>(image_shown.pixels.data()));  // read only
  const cv::Mat values = ViewOf(map.rows, map.columns, map.values);
  const ColourRange range =
      map.range.value_or(AttentionRange(map.values, int64_t{map.rows} * map.columns, map.diverging));
  const int width = look.legend ? std::max(shown.cols, kLeastLegendWidth) : shown.cols;
  const std::vector<std::string> caption =
      look.legend ? WrapText(map.caption, kLetters, width - 2 * kCaptionMargin) : std::vector<std::string>();
  const int caption_height = caption.empty() ? 0 : kCaptionMargin + static_cast<int>(caption.size()) * kLineHeight;
  Image result = EmptyImage(width, shown.rows + (look.legend ? caption_height + kLegendBarHeight : 0));
  cv::Mat whole = CanvasOf(result);
  if (look.legend) DrawLegend(whole.rowRange(shown.rows, whole.rows), caption, range);
  cv::Mat canvas = whole(cv::Rect({(whole.cols - shown.cols) / 2, 0}, shown.size()));
  shown.convertTo(canvas, CV_8U, kUncovered);
  const cv::Rect covered = CoveredPart(map.covers, image, shown.size());
  if (covered.empty()) return result;

  // The range comes from the cells; painting clips the overshoots of the cubic filter.
  cv::Mat smooth;
  cv::resize(values, smooth, covered.size(), 0, 0, cv::INTER_CUBIC);
  PaintOver(shown(covered), smooth, range, canvas(covered));
  cv::rectangle(canvas, covered, kFrame, 1);
  if (map.marked >= 0) MarkCell(canvas(covered), map);
  return result;
}

// Converts OpenCV's exceptions to a status.
template <typename Draw>
absl::StatusOr<Image> WithOpenCv(Draw draw) {
  try {
    UseOneThread();
    return draw();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot draw the overlay: ", error.what()));
  }
}

}  // namespace

absl::StatusOr<Image> ShownUnderMaps(const Image& image, const OverlayLook& look) {
  RETURN_IF_ERROR(CheckImage(image));
  if (look.max_side < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_side is ", look.max_side, ", must be at least 1"));
  }
  const Size size = ShownSize(image, look);
  return WithOpenCv([&] {
    if (size == Size{image.height, image.width}) return InColour(image);
    const bool is_smaller = size.height < image.height || size.width < image.width;
    return InColour(is_smaller ? ResizeForDisplay(image, size, v1::BILINEAR) : Enlarged(image, size));
  });
}

absl::StatusOr<Image> ComposeOnShown(const Image& shown, Size image, const SpatialMap& map, const OverlayLook& look) {
  RETURN_IF_ERROR(CheckValues(map.rows, map.columns, map.values));
  RETURN_IF_ERROR(CheckMarked(map));
  RETURN_IF_ERROR(CheckCovers(image, map.covers));
  return WithOpenCv([&] { return Compose(shown, image, map, look); });
}

absl::StatusOr<Image> ComposeOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look) {
  RETURN_IF_ERROR(CheckValues(map.rows, map.columns, map.values));
  ASSIGN_OR_RETURN(const Image shown, ShownUnderMaps(image, look));
  return ComposeOnShown(shown, {image.height, image.width}, map, look);
}

absl::StatusOr<std::string> DrawOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look) {
  ASSIGN_OR_RETURN(const Image drawn, ComposeOverlay(image, map, look));
  return EncodePng(drawn);
}

}  // namespace vitrine
