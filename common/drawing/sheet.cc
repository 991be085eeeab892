// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/sheet.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/drawing/canvas.h"
#include "common/drawing/colours.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/geometry.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Anchor = Lettering::Anchor;

constexpr int kGap = 8, kSheetMargin = 16;
constexpr int kHead = 72;     // height of title, note and the image beside them
constexpr int kCaption = 24;  // height of the column captions
constexpr int kSheetBarWidth = 120, kSheetBarHeight = 12;
constexpr int kTitleHeight = 13, kNoteHeight = 10, kCaptionHeight = 10;

absl::Status Check(const SheetFigure& figure) {
  if (figure.tiles.empty() || figure.tiles.size() != figure.rows.size() * figure.columns.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a sheet of ", figure.rows.size(), "x", figure.columns.size(),
                                                   " places cannot have ", figure.tiles.size(), " tiles"));
  }
  for (const Image& tile : figure.tiles) {
    const size_t bytes = static_cast<size_t>(tile.width) * static_cast<size_t>(tile.height) * 3;
    if (tile.pixels.size() != bytes || (bytes > 0 && tile.channels != 3)) {
      return absl::InvalidArgumentError("a tile of the sheet is no complete RGB image");
    }
  }
  return absl::OkStatus();
}

// Returns the labels at the two ends of the colour bar.
std::pair<std::string, std::string> EndsOf(const SheetFigure& figure) {
  if (!figure.range.has_value()) return {};
  return {ShortNumber(figure.range->low()), (figure.range->diverging ? "+" : "") + ShortNumber(figure.range->high)};
}

// Positions on the sheet.
struct SheetLayout {
  Size tile;     // size reserved for a tile
  int left = 0;  // left edge of the first tile
  int top = 0;
  int text = 0;  // left edge of title and note
  int bar = 0;   // left edge of the colour bar's low label
  Size sheet;

  SheetLayout(const SheetFigure& figure, int thumbnail) {
    for (const Image& image : figure.tiles) {
      tile.width = std::max(tile.width, image.width);
      tile.height = std::max(tile.height, image.height);
    }
    int caption = 0;
    for (const std::string& row : figure.rows) caption = std::max(caption, TextWidth(row, kCaptionHeight));
    for (const std::string& column : figure.columns) {
      tile.width = std::max(tile.width, TextWidth(column, kCaptionHeight));
    }
    left = kSheetMargin + (caption > 0 ? caption + kGap : 0);
    top = kSheetMargin + kHead + kCaption;
    text = kSheetMargin + (thumbnail > 0 ? thumbnail + 2 * kGap : 0);
    bar = text;
    const int rows = static_cast<int>(figure.rows.size()), columns = static_cast<int>(figure.columns.size());
    const auto [low, high] = EndsOf(figure);
    const int legend = !figure.range.has_value()
                           ? 0
                           : TextWidth(low, kNoteHeight) + TextWidth(high, kNoteHeight) + kSheetBarWidth + 2 * kGap;
    const int words = std::max(TextWidth(figure.title, kTitleHeight), TextWidth(figure.note, kNoteHeight));
    sheet.width = std::max(left + columns * (tile.width + kGap) - kGap, text + std::max(words, legend)) + kSheetMargin;
    sheet.height = top + rows * (tile.height + kGap) - kGap + kSheetMargin;
  }

  Point Place(int row, int column) const {
    return {left + column * (tile.width + kGap), top + row * (tile.height + kGap)};
  }
};

void DrawHead(const Canvas& canvas, const SheetFigure& figure, const SheetLayout& at) {
  Write(canvas, figure.title, {at.text, kSheetMargin + 8}, {.height = kTitleHeight, .colour = kInk});
  Write(canvas, figure.note, {at.text, kSheetMargin + 31}, {.height = kNoteHeight, .colour = kFaintInk});
  if (!figure.range.has_value()) return;
  const auto [low, high] = EndsOf(figure);
  const int y = kSheetMargin + 53;
  const Lettering words{.height = kNoteHeight, .colour = kFaintInk};
  Write(canvas, low, {at.bar, y}, words);
  const Rect bar = {at.bar + TextWidth(low, kNoteHeight) + kGap, y - kSheetBarHeight / 2, kSheetBarWidth,
                    kSheetBarHeight};
  DrawColourBar(canvas, bar, *figure.range, false);
  canvas.Frame(bar, kLine);
  Write(canvas, high, {bar.right() + kGap, y}, words);
}

Image Compose(const SheetFigure& figure) {
  const Image thumbnail = figure.image == nullptr ? Image() : ScaledToSide(*figure.image, kHead - kGap);
  const SheetLayout at(figure, thumbnail.width);
  Image result = EmptyImage(at.sheet.width, at.sheet.height);
  const Canvas canvas(result);
  canvas.Put(thumbnail, {kSheetMargin, kSheetMargin});
  DrawHead(canvas, figure, at);
  const int rows = static_cast<int>(figure.rows.size()), columns = static_cast<int>(figure.columns.size());
  const Lettering caption{.height = kCaptionHeight, .colour = kInk, .anchor = Anchor::kCentre};
  for (int column = 0; column < columns; ++column) {
    const Point place = at.Place(0, column);
    Write(canvas, figure.columns[static_cast<size_t>(column)], {place.x + at.tile.width / 2, place.y - 12}, caption);
  }
  for (int row = 0; row < rows; ++row) {
    Lettering right = caption;
    right.anchor = Anchor::kRight;
    Write(canvas, figure.rows[static_cast<size_t>(row)], {at.left - kGap, at.Place(row, 0).y + at.tile.height / 2},
          right);
    for (int column = 0; column < columns; ++column) {
      const Image& tile = figure.tiles[static_cast<size_t>(row) * figure.columns.size() + static_cast<size_t>(column)];
      const Point place = at.Place(row, column);
      canvas.Put(tile, {place.x + (at.tile.width - tile.width) / 2, place.y + (at.tile.height - tile.height) / 2});
    }
  }
  return result;
}

}  // namespace

int SheetTileSide(int rows, int columns) {
  return std::clamp(std::min(2400 / std::max(1, rows), 2000 / std::max(1, columns)), 96, 224);
}

absl::StatusOr<std::string> DrawSheet(const SheetFigure& figure) {
  RETURN_IF_ERROR(Check(figure));
  return EncodePng(Compose(figure));
}

}  // namespace vitrine
