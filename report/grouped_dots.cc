#include "report/grouped_dots.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace vitrine {
namespace {

constexpr double kLeft = 92, kTop = 84, kPlotHeight = 380;
constexpr double kLeastGroup = 74, kSeriesWidth = 26, kLegendWidth = 190, kLeastPlot = 420, kMostPlot = 2400;
constexpr double kBottom = kTop + kPlotHeight;
constexpr double kGlyphWidth = 6.6;
constexpr char kInk[] = "#1f2933";
constexpr char kFaint[] = "#e4e7eb";
// Told apart by colour-blind readers too (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#c48a00", "#56b4e9", "#6b7280"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Text(double x, double y, const std::string& text, const std::string& style) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, style, Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2, const std::string& style) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

std::string Shortened(const std::string& text, double width) {
  const auto letters = static_cast<size_t>(std::max(3.0, width / kGlyphWidth));
  if (text.size() <= letters) return text;
  size_t end = letters - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a letter of UTF-8
  return text.substr(0, end) + "…";
}

// 1, 2 or 5 times a power of ten, so that about `ticks` of them cover the span.
double StepFor(double span, int ticks) {
  const double rough = span / ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Diagram {
 public:
  explicit Diagram(const DotsFigure& figure) : figure_(figure) {
    const double series = static_cast<double>(figure.series.size());
    const double groups = static_cast<double>(figure.groups.size());
    plot_width_ = std::clamp(groups * std::max(kLeastGroup, series * kSeriesWidth + 24), kLeastPlot, kMostPlot);
    group_width_ = plot_width_ / groups;
    right_ = kLeft + plot_width_;
    FitAxis();
  }

  std::string Draw() {
    const double width = right_ + (figure_.series.size() > 1 ? kLegendWidth : 40), height = kBottom + 64;
    svg_ = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"%s\">\n"
        "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        width, height, width, height, kInk, Escaped(figure_.title));
    svg_ += Text(kLeft, 36, figure_.title, "font-size=\"19\" font-weight=\"bold\"");
    svg_ += Text(kLeft, 58, figure_.note, "font-size=\"12.5\" fill=\"#52606d\"");
    DrawAxes();
    for (const DotsFigure::Dots& dots : figure_.dots) DrawDots(dots);
    if (figure_.series.size() > 1) DrawLegend();
    return svg_ + "</svg>\n";
  }

 private:
  double Y(double value) const { return kBottom - (value - low_) / (high_ - low_) * kPlotHeight; }
  double X(size_t group, size_t series) const {
    const double place = (static_cast<double>(series) + 0.5) / static_cast<double>(figure_.series.size());
    return kLeft + (static_cast<double>(group) + 0.12 + 0.76 * place) * group_width_;
  }
  static const char* ColourOf(size_t series) { return kColours[series % std::size(kColours)]; }

  void FitAxis() {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const DotsFigure::Dots& dots : figure_.dots) {
      for (const double value : dots.values) low = std::min(low, value), high = std::max(high, value);
      low = std::min(low, dots.mean - dots.deviation);
      high = std::max(high, dots.mean + dots.deviation);
    }
    if (!(low <= high)) low = 0, high = 1;  // nothing to draw
    // Equal values need a span too, one that doubles can tell apart.
    const double least = std::max(1e-9, 1e-6 * std::max(std::abs(low), std::abs(high)));
    if (high - low < least) low -= least, high += least;
    step_ = StepFor(high - low, 6);
    low_ = std::floor(low / step_) * step_;
    high_ = std::ceil(high / step_) * step_;
  }

  void DrawAxes() {
    for (int i = 0; low_ + i * step_ <= high_ + step_ / 2; ++i) {
      const double value = low_ + i * step_;
      svg_ += Line(kLeft, Y(value), right_, Y(value), absl::StrCat("stroke=\"", kFaint, "\""));
      svg_ += Text(kLeft - 8, Y(value) + 4, absl::StrFormat("%.6g", std::abs(value) < step_ / 2 ? 0 : value),
                   "text-anchor=\"end\"");
    }
    for (size_t group = 0; group < figure_.groups.size(); ++group) {
      const double x = kLeft + static_cast<double>(group) * group_width_;
      if (group > 0) svg_ += Line(x, kTop, x, kBottom, absl::StrCat("stroke=\"", kFaint, "\""));
      svg_ += Text(x + group_width_ / 2, kBottom + 20, Shortened(figure_.groups[group], group_width_),
                   "text-anchor=\"middle\"");
    }
    svg_ += absl::StrFormat(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#7b8794\"/>\n", kLeft, kTop,
        plot_width_, kPlotHeight);
    svg_ += Text((kLeft + right_) / 2, kBottom + 46, figure_.x_name, "text-anchor=\"middle\" font-size=\"13\"");
    svg_ += absl::StrFormat(
        "<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\">%s</text>\n",
        (kTop + kBottom) / 2, Escaped(figure_.y_name));
  }

  void DrawDots(const DotsFigure::Dots& dots) {
    if (dots.values.empty()) return;
    const double x = X(dots.group, dots.series), y = Y(dots.mean);
    const char* colour = ColourOf(dots.series);
    std::string name = figure_.groups[dots.group];
    if (figure_.series.size() > 1) absl::StrAppend(&name, ", ", figure_.series[dots.series]);
    for (const double value : dots.values) {
      svg_ += absl::StrFormat(
          "<circle class=\"value\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\" fill-opacity=\"0.45\"><title>%s: %.6g"
          "</title></circle>\n",
          x - 7, Y(value), colour, Escaped(name), value);
    }
    if (dots.deviation > 0) {
      const double top = Y(dots.mean + dots.deviation), bottom = Y(dots.mean - dots.deviation);
      const std::string style = absl::StrCat("stroke=\"", colour, "\" stroke-width=\"1.8\"");
      svg_ += Line(x, top, x, bottom, style) + Line(x - 4, top, x + 4, top, style) +
              Line(x - 4, bottom, x + 4, bottom, style);
    }
    if (dots.best) {
      svg_ += absl::StrFormat(
          "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\"/>\n",
          x, y, kInk);
    }
    svg_ += absl::StrFormat(
        "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.6\" fill=\"%s\"><title>%s: mean %.6g, deviation %.3g, "
        "%d runs%s</title></circle>\n",
        x, y, colour, Escaped(name), dots.mean, dots.deviation, dots.values.size(), dots.best ? ", the best" : "");
  }

  void DrawLegend() {
    const double x = right_ + 22;
    double y = kTop + 14;
    svg_ += Text(x, y, Shortened(figure_.series_name, kLegendWidth - 30), "font-weight=\"bold\"");
    for (size_t i = 0; i < figure_.series.size(); ++i) {
      y += 20;
      svg_ += absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.6\" fill=\"%s\"/>\n", x + 6, y - 4, ColourOf(i));
      svg_ += Text(x + 18, y, Shortened(figure_.series[i], kLegendWidth - 48), "");
    }
  }

  const DotsFigure& figure_;
  double plot_width_ = 0, group_width_ = 0, right_ = 0;
  double low_ = 0, high_ = 1, step_ = 1;
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
  return Diagram(figure).Draw();
}

}  // namespace vitrine
