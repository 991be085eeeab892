// SPDX-License-Identifier: Apache-2.0
#include "report/grouped_dots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/axis.h"
#include "report/chart.h"
#include "report/html.h"

namespace vitrine {
namespace {

constexpr double kDotsLeft = 92, kDotsTop = 84, kDotsHeight = 380;
constexpr double kLeastGroup = 74, kSeriesWidth = 26, kDotsLegend = 190, kLeastPlot = 420, kMostPlot = 2400;
constexpr double kDotsBottom = kDotsTop + kDotsHeight;
constexpr double kDotsGlyph = 6.6;
constexpr int kColours = 6;  // series-0 to series-5 of chart.h

std::string Stroke(const std::string& colour) {
  return absl::StrCat("style=\"stroke:", colour, "\"");
}

std::string StyledLine(double x1, double y1, double x2, double y2, const std::string& style) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

std::string Shortened(const std::string& text, double width) {
  const auto letters = static_cast<size_t>(std::max(3.0, width / kDotsGlyph));
  if (text.size() <= letters) return text;
  size_t end = letters - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a letter of UTF-8
  return text.substr(0, end) + "…";
}

class DotsDiagram {
 public:
  explicit DotsDiagram(const DotsFigure& figure) : figure_(figure) {
    const double series = static_cast<double>(figure.series.size());
    const double groups = static_cast<double>(figure.groups.size());
    plot_width_ = std::clamp(groups * std::max(kLeastGroup, series * kSeriesWidth + 24), kLeastPlot, kMostPlot);
    group_width_ = plot_width_ / groups;
    right_ = kDotsLeft + plot_width_;
    FitAxis();
  }

  std::string Draw() {
    const double width = right_ + (figure_.series.size() > 1 ? kDotsLegend : 40), height = kDotsBottom + 64;
    svg_ = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" style=\"fill:%s\">\n"
        "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" style=\"fill:%s\"/>\n",
        width, height, width, height, ColourOf("ink"), EscapeHtml(figure_.title), ColourOf("paper"));
    svg_ += SvgText(kDotsLeft, 36, figure_.title, "font-size=\"19\" font-weight=\"bold\"");
    svg_ +=
        SvgText(kDotsLeft, 58, figure_.note, absl::StrCat("font-size=\"12.5\" style=\"fill:", ColourOf("faint"), "\""));
    DrawAxes();
    for (const DotsFigure::Dots& dots : figure_.dots) DrawDots(dots);
    if (figure_.series.size() > 1) DrawLegend();
    return svg_ + "</svg>\n";
  }

 private:
  double Y(double value) const { return axis_.Place(value); }
  double X(size_t group, size_t series) const {
    const double place = (static_cast<double>(series) + 0.5) / static_cast<double>(figure_.series.size());
    return kDotsLeft + (static_cast<double>(group) + 0.12 + 0.76 * place) * group_width_;
  }
  static std::string ColourOfSeries(size_t series) { return ColourOf(absl::StrCat("series-", series % kColours)); }

  void FitAxis() {
    std::vector<double> values;
    for (const DotsFigure::Dots& dots : figure_.dots) {
      values.insert(values.end(), dots.values.begin(), dots.values.end());
      values.insert(values.end(), {dots.mean - dots.deviation, dots.mean + dots.deviation});
    }
    axis_ = AxisOf(values, /*logarithmic=*/false);
    axis_.from = kDotsBottom, axis_.to = kDotsTop;
  }

  void DrawAxes() {
    for (const double tick : axis_.Ticks(6)) {
      svg_ += StyledLine(kDotsLeft, Y(tick), right_, Y(tick), Stroke(ColourOf("line")));
      svg_ += SvgText(kDotsLeft - 8, Y(tick) + 4, TickText(tick), "text-anchor=\"end\"");
    }
    for (size_t group = 0; group < figure_.groups.size(); ++group) {
      const double x = kDotsLeft + static_cast<double>(group) * group_width_;
      if (group > 0) svg_ += StyledLine(x, kDotsTop, x, kDotsBottom, Stroke(ColourOf("line")));
      svg_ += SvgText(x + group_width_ / 2, kDotsBottom + 20, Shortened(figure_.groups[group], group_width_),
                      "text-anchor=\"middle\"");
    }
    svg_ += absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" %s/>\n",
                            kDotsLeft, kDotsTop, plot_width_, kDotsHeight, Stroke(ColourOf("faint")));
    svg_ +=
        SvgText((kDotsLeft + right_) / 2, kDotsBottom + 46, figure_.x_name, "text-anchor=\"middle\" font-size=\"13\"");
    svg_ += absl::StrFormat(
        "<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\">%s</text>\n",
        (kDotsTop + kDotsBottom) / 2, EscapeHtml(figure_.y_name));
  }

  void DrawDots(const DotsFigure::Dots& dots) {
    if (dots.values.empty()) return;
    const double x = X(dots.group, dots.series), y = Y(dots.mean);
    const std::string colour = ColourOfSeries(dots.series);
    std::string name = figure_.groups[dots.group];
    if (figure_.series.size() > 1) absl::StrAppend(&name, ", ", figure_.series[dots.series]);
    for (const double value : dots.values) {
      svg_ += absl::StrFormat(
          "<circle class=\"value\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" style=\"fill:%s;fill-opacity:0.45\"><title>%s: "
          "%.6g"
          "</title></circle>\n",
          x - 7, Y(value), colour, EscapeHtml(name), value);
    }
    if (dots.deviation > 0) {
      const double top = Y(dots.mean + dots.deviation), bottom = Y(dots.mean - dots.deviation);
      const std::string style = absl::StrCat(Stroke(colour), " stroke-width=\"1.8\"");
      svg_ += StyledLine(x, top, x, bottom, style) + StyledLine(x - 4, top, x + 4, top, style) +
              StyledLine(x - 4, bottom, x + 4, bottom, style);
    }
    if (dots.best) {
      svg_ += absl::StrFormat(
          "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"none\" %s stroke-width=\"1.4\"/>\n", x, y,
          Stroke(ColourOf("ink")));
    }
    svg_ += absl::StrFormat(
        "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.6\" style=\"fill:%s\"><title>%s: mean %.6g, deviation "
        "%.3g, "
        "%d runs%s</title></circle>\n",
        x, y, colour, EscapeHtml(name), dots.mean, dots.deviation, dots.values.size(), dots.best ? ", the best" : "");
  }

  void DrawLegend() {
    const double x = right_ + 22;
    double y = kDotsTop + 14;
    svg_ += SvgText(x, y, Shortened(figure_.series_name, kDotsLegend - 30), "font-weight=\"bold\"");
    for (size_t i = 0; i < figure_.series.size(); ++i) {
      y += 20;
      svg_ += absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.6\" style=\"fill:%s\"/>\n", x + 6, y - 4,
                              ColourOfSeries(i));
      svg_ += SvgText(x + 18, y, Shortened(figure_.series[i], kDotsLegend - 48), "");
    }
  }

  const DotsFigure& figure_;
  double plot_width_ = 0, group_width_ = 0, right_ = 0;
  Axis axis_;
  std::string svg_;
};

absl::Status Check(const DotsFigure& figure) {
  if (figure.groups.empty() || figure.series.empty()) return absl::InvalidArgumentError("a plot needs a group");
  for (const DotsFigure::Dots& dots : figure.dots) {
    if (dots.group >= figure.groups.size() || dots.series >= figure.series.size()) {
      return absl::InvalidArgumentError("there are values of a group or a series that is none");
    }
    const bool finite =
        std::isfinite(dots.mean) && std::isfinite(dots.deviation) &&
        std::all_of(dots.values.begin(), dots.values.end(), [](double value) { return std::isfinite(value); });
    if (!finite) {
      return absl::InvalidArgumentError(
          absl::StrCat("a value of ", figure.groups[dots.group], ", ", figure.series[dots.series], " is not finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> DrawGroupedDots(const DotsFigure& figure) {
  if (const absl::Status status = Check(figure); !status.ok()) return status;
  return DotsDiagram(figure).Draw();
}

}  // namespace vitrine
