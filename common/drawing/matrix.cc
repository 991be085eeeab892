// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/matrix.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <opencv2/imgproc.hpp>

#include "absl/strings/str_cat.h"
#include "common/drawing/colours.h"
#include "common/drawing/figure.h"
#include "common/drawing/lettering.h"
#include "common/imaging/encode/encode_png.h"
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

// Converts OpenCV's exceptions to a status.
absl::StatusOr<Image> Guarded(const std::function<Image()>& draw) {
  try {
    UseOneThread();
    return draw();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot draw the matrix: ", error.what()));
  }
}

cv::Mat Values(const MatrixFigure& figure) {
  return ViewOf(figure.rows, figure.columns, figure.values);
}

ColourRange RangeFor(const MatrixFigure& figure) {
  return figure.range.value_or(RangeOf(figure.values, figure.diverging));
}

// Returns the smallest of 1, 2, 5, 10, 20, 50, ... squares of `cell` pixels that span at least `least` pixels.
int TickStep(int cell, int least = kLeastBetweenTicks) {
  for (int decade = 1;; decade *= 10) {
    for (const int step : {decade, 2 * decade, 5 * decade}) {
      if (step * cell >= least) return step;
    }
  }
}

void DrawAxes(cv::Mat& canvas, const MatrixFigure& figure, const cv::Rect& area, int cell) {
  cv::rectangle(canvas, {area.x - 1, area.y - 1, area.width + 2, area.height + 2}, kLine, 1);
  const int step = TickStep(cell);
  for (int column = 0; column < figure.columns; column += step) {
    const int x = area.x + column * cell + cell / 2;
    cv::line(canvas, {x, area.br().y + 1}, {x, area.br().y + kTick}, kLine, 1);
    Write(canvas, absl::StrCat(column), {x, area.br().y + 14},
          {.height = 9, .colour = kFaintInk, .anchor = Anchor::kCentre});
  }
  for (int row = 0; row < figure.rows; row += step) {
    const int y = area.y + row * cell + cell / 2;
    cv::line(canvas, {area.x - 1 - kTick, y}, {area.x - 2, y}, kLine, 1);
    Write(canvas, absl::StrCat(row), {area.x - 10, y}, {.height = 9, .colour = kFaintInk, .anchor = Anchor::kRight});
  }
  Write(canvas, figure.column_axis, {area.x + area.width / 2, area.br().y + 36},
        {.height = 11, .colour = kInk, .anchor = Anchor::kCentre});
  Write(canvas, figure.row_axis, {area.x - 52, area.y + area.height / 2},
        {.height = 11, .colour = kInk, .anchor = Anchor::kCentre, .upwards = true});
}

void DrawBar(cv::Mat& canvas, const ColourRange& range, const cv::Rect& area) {
  const int height = std::max(area.height, 48);
  const cv::Rect bar(area.br().x + kBarGap, area.y, kMatrixBar, height);
  ColourBar(range, bar.size(), true).copyTo(canvas(bar));
  cv::rectangle(canvas, {bar.x - 1, bar.y - 1, bar.width + 2, bar.height + 2}, kLine, 1);
  const auto number = [&](double value, int y) {
    cv::line(canvas, {bar.br().x + 1, y}, {bar.br().x + kTick, y}, kLine, 1);
    Write(canvas, ShortNumber(value), {bar.br().x + 9, y}, {.height = 9, .colour = kFaintInk});
  };
  number((range.low() + range.high) / 2, bar.y + bar.height / 2);
  if (range.high > 0) {
    number(range.high, bar.y);
    number(range.low(), bar.br().y - 1);
  }
}

Image Compose(const MatrixFigure& figure) {
  const int longer = std::max(figure.rows, figure.columns);
  const int cell = std::max(1, (kMinSide + longer - 1) / longer);
  const cv::Rect area(kMatrixLeft, kMatrixTop, figure.columns * cell, figure.rows * cell);
  const int words = std::max(TextWidth(figure.title, 12), TextWidth(figure.note, 10));
  const int needed = std::max(words + kMatrixLeft + 16, area.br().x + kMatrixRight);
  // With few rows the axis name and the colour bar need more height than the matrix.
  const int height = std::max(area.height, TextWidth(figure.row_axis, 11));
  Image result = EmptyImage(needed, kMatrixTop + std::max(height, 48) + kMatrixBelow);
  cv::Mat canvas = CanvasOf(result);
  const ColourRange range = RangeFor(figure);
  cv::resize(Paint(Values(figure), range), canvas(area), area.size(), 0, 0, cv::INTER_NEAREST);
  DrawAxes(canvas, figure, area, cell);
  DrawBar(canvas, range, area);
  Write(canvas, figure.title, {kMatrixLeft, 20}, {.height = 12, .colour = kInk});
  Write(canvas, figure.note, {kMatrixLeft, 42}, {.height = 10, .colour = kFaintInk});
  return result;
}

Image Squares(const MatrixFigure& figure, int side) {
  const int longer = std::max(figure.rows, figure.columns);
  const cv::Mat painted = Paint(Values(figure), RangeFor(figure));
  cv::Size size;
  if (longer <= side) {
    size = painted.size() * (side / longer);
  } else {
    size = cv::Size(std::max(1, figure.columns * side / longer), std::max(1, figure.rows * side / longer));
  }
  Image result = EmptyImage(size.width, size.height);
  cv::Mat canvas = CanvasOf(result);
  cv::resize(painted, canvas, size, 0, 0, longer <= side ? cv::INTER_NEAREST : cv::INTER_AREA);
  return result;
}

Image Named(const Image& squares, std::span<const std::string> rows, std::span<const std::string> columns) {
  constexpr int kNameHeight = 8, kGap = 5, kLeastBetweenNames = 12;
  const auto room = [](std::span<const std::string> names) {
    int widest = 0;
    for (const std::string& name : names) widest = std::max(widest, TextWidth(name, kNameHeight));
    return widest + kGap;
  };
  const cv::Rect area(room(rows), 0, squares.width, squares.height);
  Image result = EmptyImage(area.br().x, area.br().y + room(columns));
  cv::Mat canvas = CanvasOf(result);
  cv::Mat(area.size(), CV_8UC3, const_cast<uint8_t*>(squares.pixels.data())).copyTo(canvas(area));  // read only
  // Calls `write` with each name that is drawn and the middle of its square.
  const auto each = [](std::span<const std::string> names, int length, const auto& write) {
    const int count = static_cast<int>(names.size());
    const int step = TickStep(std::max(1, length / count), kLeastBetweenNames);
    for (int i = 0; i < count; i += step) write(names[static_cast<size_t>(i)], (2 * i + 1) * length / (2 * count));
  };
  Lettering letters{.height = kNameHeight, .colour = kFaintInk, .anchor = Anchor::kRight};
  each(rows, area.height, [&](const std::string& name, int y) { Write(canvas, name, {area.x - kGap, y}, letters); });
  letters.upwards = true;
  each(columns, area.width, [&](const std::string& name, int x) {
    Write(canvas, name, {area.x + x, area.br().y + kGap}, letters);
  });
  return result;
}

}  // namespace

absl::StatusOr<Image> ComposeMatrix(const MatrixFigure& figure, int side) {
  RETURN_IF_ERROR(Check(figure));
  if (side < 1) return absl::InvalidArgumentError(absl::StrCat("side is ", side, ", must be at least 1"));
  return Guarded([&] { return Squares(figure, side); });
}

absl::StatusOr<Image> WithNames(const Image& squares, std::span<const std::string> rows,
                                std::span<const std::string> columns) {
  return Guarded([&] { return Named(squares, rows, columns); });
}

absl::StatusOr<std::string> DrawMatrix(const MatrixFigure& figure) {
  RETURN_IF_ERROR(Check(figure));
  ASSIGN_OR_RETURN(const Image image, Guarded([&] { return Compose(figure); }));
  return EncodePng(image);
}

}  // namespace vitrine
