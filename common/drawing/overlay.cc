// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/drawing/canvas.h"
#include "common/drawing/colours.h"
#include "common/drawing/cubic_rows.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr double kMapWeight = 0.55;     // weight of the map; the grey image has 1 - kMapWeight
constexpr float kUncovered = 0.35f;     // brightness of the image outside the grid
constexpr int kLeastLegendWidth = 240;  // minimum width of colour bar, numbers and caption
constexpr int kLegendBarHeight = 40;    // height of the bar with its numbers
constexpr int kLetters = 9, kLineHeight = 16, kCaptionMargin = 8;
constexpr Colour kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

// Converts `covers`, in pixels of the image, to whole pixels of the displayed image.
Rect CoveredPart(const v1::Rectangle& covers, Size image, const Rect& shown) {
  const auto x = [&](float position) {
    return static_cast<int>(std::lrint(position * (static_cast<double>(shown.width) / image.width)));
  };
  const auto y = [&](float position) {
    return static_cast<int>(std::lrint(position * (static_cast<double>(shown.height) / image.height)));
  };
  const int left = x(covers.left()), top = y(covers.top());
  const int right = x(covers.left() + covers.width()), bottom = y(covers.top() + covers.height());
  return Intersection({left, top, right - left, bottom - top}, shown);
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
void MarkCell(const Canvas& canvas, const SpatialMap& map) {
  const int row = map.marked / map.columns, column = map.marked % map.columns;
  const int left = column * canvas.width() / map.columns, right = (column + 1) * canvas.width() / map.columns;
  const int top = row * canvas.height() / map.rows, bottom = (row + 1) * canvas.height() / map.rows;
  const Rect cell = {left, top, right - left, bottom - top};
  canvas.Frame(cell, kBlack);
  canvas.Frame(cell.Grown(-1), kWhite);
  canvas.Frame(cell.Grown(-2), kWhite);
  canvas.Frame(cell.Grown(-3), kBlack);
}

// Draws the legend: the caption, the colour bar, the numbers at its ends, and 0 if it is in between.
void DrawLegend(const Canvas& canvas, const std::vector<std::string>& caption, const ColourRange& range) {
  int middle = kCaptionMargin + kLineHeight / 2;
  for (const std::string& line : caption) {
    Write(canvas, line, {kCaptionMargin, middle}, {.height = kLetters, .colour = kInk});
    middle += kLineHeight;
  }
  const int margin = 34, top = canvas.height() - kLegendBarHeight;
  const Rect bar = {margin, top + 8, canvas.width() - 2 * margin, 10};
  DrawColourBar(canvas, bar, range, false);
  canvas.Frame(bar, kLine);
  const auto number = [&](double value, int x) {
    Write(canvas, (value > 0 && range.diverging ? "+" : "") + ShortNumber(value), {x, bar.bottom() + 11},
          {.height = kLetters, .colour = kFaintInk, .anchor = Lettering::Anchor::kCentre});
  };
  number(range.low(), bar.x);
  if (range.diverging) number(0, bar.x + bar.width / 2);
  number(range.high, bar.right());
}

void Dim(const Canvas& canvas) {
  for (int y = 0; y < canvas.height(); ++y) {
    uint8_t* const row = canvas.Row(y);
    for (int i = 0; i < 3 * canvas.width(); ++i) {
      // NOLINTNEXTLINE(bugprone-incorrect-roundings): unlike lround, this is vectorized; the value is not negative
      row[i] = static_cast<uint8_t>(row[i] * kUncovered + 0.5f);
    }
  }
}

// Replaces the image on the canvas by its grey values, mixed with the map's colours.
void PaintOver(const Canvas& canvas, const SpatialMap& map, const ColourRange& range) {
  constexpr double kOne = 1 << 16;  // weights and sums are in units of 1 / kOne
  constexpr auto kRed = static_cast<uint32_t>(0.299 * (1 - kMapWeight) * kOne);
  constexpr auto kGreen = static_cast<uint32_t>(0.587 * (1 - kMapWeight) * kOne);
  constexpr auto kBlue = static_cast<uint32_t>(0.114 * (1 - kMapWeight) * kOne);
  const ColourScale scale(range);
  std::array<std::array<uint32_t, 4>, 256> weighted = {};  // colours times kMapWeight, plus 1/2 for rounding
  for (size_t i = 0; i < weighted.size(); ++i) {
    for (size_t channel = 0; channel < 3; ++channel) {
      weighted[i][channel] = static_cast<uint32_t>((scale.colours()[i][channel] * kMapWeight + 0.5) * kOne);
    }
  }
  // Interpolated values may lie outside `range`, which covers only the cells' values; FindSteps limits them to the
  // range.
  CubicRows values(map.rows, map.columns, map.values, {.height = canvas.height(), .width = canvas.width()});
  std::vector<uint8_t> steps(static_cast<size_t>(canvas.width()));
  for (int y = 0; y < canvas.height(); ++y) {
    scale.FindSteps(values.Row(y), steps.data());
    uint8_t* pixel = canvas.Row(y);
    for (const uint8_t step : steps) {
      const uint32_t grey = kRed * pixel[0] + kGreen * pixel[1] + kBlue * pixel[2];
      for (size_t channel = 0; channel < 3; ++channel)
        *pixel++ = static_cast<uint8_t>((weighted[step][channel] + grey) >> 16);
    }
  }
}

Image Compose(const Image& shown, Size image, const SpatialMap& map, const OverlayLook& look) {
  const ColourRange range =
      map.range.value_or(AttentionRange(map.values, int64_t{map.rows} * map.columns, map.diverging));
  const int width = look.legend ? std::max(shown.width, kLeastLegendWidth) : shown.width;
  const std::vector<std::string> caption =
      look.legend ? WrapText(map.caption, kLetters, width - 2 * kCaptionMargin) : std::vector<std::string>();
  const int caption_height = caption.empty() ? 0 : kCaptionMargin + static_cast<int>(caption.size()) * kLineHeight;
  const int legend_height = look.legend ? caption_height + kLegendBarHeight : 0;
  Image result = EmptyImage(width, shown.height + legend_height);
  const Canvas whole(result);
  if (look.legend) DrawLegend(whole.Part({0, shown.height, width, legend_height}), caption, range);
  const Canvas canvas = whole.Part({(width - shown.width) / 2, 0, shown.width, shown.height});
  canvas.Put(shown, {0, 0});
  const Rect covered = CoveredPart(map.covers, image, canvas.area());
  Dim(canvas.Part({0, 0, shown.width, covered.y}));
  Dim(canvas.Part({0, covered.y, covered.x, covered.height}));
  Dim(canvas.Part({covered.right(), covered.y, shown.width - covered.right(), covered.height}));
  Dim(canvas.Part({0, covered.bottom(), shown.width, shown.height - covered.bottom()}));
  if (covered.empty()) return result;
  PaintOver(canvas.Part(covered), map, range);
  canvas.Frame(covered, kWhite);
  if (map.marked >= 0) MarkCell(canvas.Part(covered), map);
  return result;
}

}  // namespace

absl::StatusOr<Image> ShownUnderMaps(const Image& image, const OverlayLook& look) {
  RETURN_IF_ERROR(CheckImage(image));
  if (look.max_side < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_side is ", look.max_side, ", must be at least 1"));
  }
  return ScaledToSide(image, std::min(std::max({image.width, image.height, look.min_side}), look.max_side));
}

absl::StatusOr<Image> ComposeOnShown(const Image& shown, Size image, const SpatialMap& map, const OverlayLook& look) {
  RETURN_IF_ERROR(CheckValues(map.rows, map.columns, map.values));
  RETURN_IF_ERROR(CheckMarked(map));
  RETURN_IF_ERROR(CheckCovers(image, map.covers));
  return Compose(shown, image, map, look);
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
