// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/matrix.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/drawing/canvas.h"
#include "common/drawing/colours.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/resize.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Anchor = Lettering::Anchor;

constexpr int kMinSide = 384;
constexpr int kMaxMatrixSide = 8192;
constexpr int kMatrixLeft = 68, kMatrixTop = 62, kMatrixBelow = 56, kMatrixRight = 124;
constexpr int kTick = 5;
constexpr int kLeastBetweenTicks = 34;
constexpr int kBarGap = 20, kMatrixBar = 16;

absl::Status Check(const MatrixFigure& figure) {
  if (figure.rows > kMaxMatrixSide || figure.columns > kMaxMatrixSide) {
    return absl::InvalidArgumentError(absl::StrCat("a matrix of ", figure.rows, "x", figure.columns,
                                                   " is too large to draw; at most ", kMaxMatrixSide, " a side"));
  }
  return CheckValues(figure.rows, figure.columns, figure.values);
}

ColourRange RangeFor(const MatrixFigure& figure) {
  return figure.range.value_or(RangeOf(figure.values, figure.diverging));
}

// Returns the smallest n of 1, 2, 5, 10, 20, 50, ... for which n squares of `cell` pixels span at least `least` pixels.
int TickStep(int cell, int least = kLeastBetweenTicks) {
  for (int decade = 1;; decade *= 10) {
    for (const int step : {decade, 2 * decade, 5 * decade}) {
      if (step * cell >= least) return step;
    }
  }
}

// Draws each value as a square of `cell` pixels.
void DrawSquares(const Canvas& canvas, const MatrixFigure& figure, int cell) {
  const ColourScale scale(RangeFor(figure));
  const size_t columns = static_cast<size_t>(figure.columns);
  std::vector<uint8_t> steps(columns);
  for (int row = 0; row < figure.rows; ++row) {
    scale.FindSteps(figure.values.subspan(static_cast<size_t>(row) * columns, columns), steps.data());
    uint8_t* const first = canvas.Row(row * cell);
    uint8_t* pixel = first;
    for (const uint8_t step : steps) {
      const Colour& colour = scale.colours()[step];
      for (int i = 0; i < cell; ++i) pixel = std::copy(colour.begin(), colour.end(), pixel);
    }
    for (int i = 1; i < cell; ++i) std::copy(first, pixel, canvas.Row(row * cell + i));
  }
}

void DrawAxes(const Canvas& canvas, const MatrixFigure& figure, const Rect& area, int cell) {
  canvas.Frame(area.Grown(1), kLine);
  const int step = TickStep(cell);
  for (int column = 0; column < figure.columns; column += step) {
    const int x = area.x + column * cell + cell / 2;
    canvas.Fill({x, area.bottom() + 1, 1, kTick}, kLine);
    Write(canvas, absl::StrCat(column), {x, area.bottom() + 14},
          {.height = 9, .colour = kFaintInk, .anchor = Anchor::kCentre});
  }
  for (int row = 0; row < figure.rows; row += step) {
    const int y = area.y + row * cell + cell / 2;
    canvas.Fill({area.x - 1 - kTick, y, kTick, 1}, kLine);
    Write(canvas, absl::StrCat(row), {area.x - 10, y}, {.height = 9, .colour = kFaintInk, .anchor = Anchor::kRight});
  }
  Write(canvas, figure.column_axis, {area.x + area.width / 2, area.bottom() + 36},
        {.height = 11, .colour = kInk, .anchor = Anchor::kCentre});
  Write(canvas, figure.row_axis, {area.x - 52, area.y + area.height / 2},
        {.height = 11, .colour = kInk, .anchor = Anchor::kCentre, .upwards = true});
}

void DrawBar(const Canvas& canvas, const ColourRange& range, const Rect& area) {
  const int height = std::max(area.height, 48);
  const Rect bar = {area.right() + kBarGap, area.y, kMatrixBar, height};
  DrawColourBar(canvas, bar, range, true);
  canvas.Frame(bar.Grown(1), kLine);
  const auto number = [&](double value, int y) {
    canvas.Fill({bar.right() + 1, y, kTick, 1}, kLine);
    Write(canvas, ShortNumber(value), {bar.right() + 9, y}, {.height = 9, .colour = kFaintInk});
  };
  number((range.low() + range.high) / 2, bar.y + bar.height / 2);
  if (range.high > 0) {
    number(range.high, bar.y);
    number(range.low(), bar.bottom() - 1);
  }
}

Image Compose(const MatrixFigure& figure) {
  const int longer = std::max(figure.rows, figure.columns);
  const int cell = std::max(1, (kMinSide + longer - 1) / longer);
  const Rect area = {kMatrixLeft, kMatrixTop, figure.columns * cell, figure.rows * cell};
  const int words = std::max(TextWidth(figure.title, 12), TextWidth(figure.note, 10));
  const int needed = std::max(words + kMatrixLeft + 16, area.right() + kMatrixRight);
  // With few rows the axis name and the colour bar need more height than the matrix.
  const int height = std::max(area.height, TextWidth(figure.row_axis, 11));
  Image result = EmptyImage(needed, kMatrixTop + std::max(height, 48) + kMatrixBelow);
  const Canvas canvas(result);
  DrawSquares(canvas.Part(area), figure, cell);
  DrawAxes(canvas, figure, area, cell);
  DrawBar(canvas, RangeFor(figure), area);
  Write(canvas, figure.title, {kMatrixLeft, 20}, {.height = 12, .colour = kInk});
  Write(canvas, figure.note, {kMatrixLeft, 42}, {.height = 10, .colour = kFaintInk});
  return result;
}

Image Squares(const MatrixFigure& figure, int side) {
  const int longer = std::max(figure.rows, figure.columns), cell = std::max(1, side / longer);
  Image squares = EmptyImage(figure.columns * cell, figure.rows * cell);
  DrawSquares(Canvas(squares), figure, cell);
  if (longer <= side) return squares;
  return ResizeForDisplay(
      squares,
      {.height = std::max(1, figure.rows * side / longer), .width = std::max(1, figure.columns * side / longer)},
      v1::BILINEAR);
}

}  // namespace

Image WithNames(const Image& squares, std::span<const std::string> rows, std::span<const std::string> columns) {
  constexpr int kNameHeight = 8, kGap = 5, kLeastBetweenNames = 12;
  const auto room = [](std::span<const std::string> names) {
    int widest = 0;
    for (const std::string& name : names) widest = std::max(widest, TextWidth(name, kNameHeight));
    return widest + kGap;
  };
  const Rect area = {room(rows), 0, squares.width, squares.height};
  Image result = EmptyImage(area.right(), area.bottom() + room(columns));
  const Canvas canvas(result);
  canvas.Put(squares, {area.x, area.y});
  // Calls `write` for each name to draw, with the name and the position of the middle of its square.
  const auto each = [](std::span<const std::string> names, int length, const auto& write) {
    const int count = static_cast<int>(names.size());
    const int step = TickStep(std::max(1, length / count), kLeastBetweenNames);
    for (int i = 0; i < count; i += step) write(names[static_cast<size_t>(i)], (2 * i + 1) * length / (2 * count));
  };
  Lettering letters{.height = kNameHeight, .colour = kFaintInk, .anchor = Anchor::kRight};
  each(rows, area.height, [&](const std::string& name, int y) { Write(canvas, name, {area.x - kGap, y}, letters); });
  letters.upwards = true;
  each(columns, area.width, [&](const std::string& name, int x) {
    Write(canvas, name, {area.x + x, area.bottom() + kGap}, letters);
  });
  return result;
}

absl::StatusOr<Image> ComposeMatrix(const MatrixFigure& figure, int side) {
  RETURN_IF_ERROR(Check(figure));
  if (side < 1) return absl::InvalidArgumentError(absl::StrCat("side is ", side, ", must be at least 1"));
  return Squares(figure, side);
}

absl::StatusOr<std::string> DrawMatrix(const MatrixFigure& figure) {
  RETURN_IF_ERROR(Check(figure));
  return EncodePng(Compose(figure));
}

}  // namespace vitrine
