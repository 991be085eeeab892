// SPDX-License-Identifier: Apache-2.0
#include "common/charts/curves.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr size_t kMostPoints = 1200;

// Cuts the points into equal parts and returns each part's minimum and maximum, in the order of x. A part that contains
// a non-finite value is reduced to this value, so that the line is interrupted there.
Points Reduced(const Points& points) {
  if (points.size() <= kMostPoints) return points;
  Points reduced;
  const size_t parts = kMostPoints / 2;
  for (size_t part = 0; part < parts; ++part) {
    const auto first = points.begin() + static_cast<int64_t>(part * points.size() / parts);
    const auto last = points.begin() + static_cast<int64_t>((part + 1) * points.size() / parts);
    const auto odd = std::find_if(first, last, [](const auto& point) { return !std::isfinite(point.second); });
    if (odd != last) {
      reduced.push_back(*odd);
      continue;
    }
    auto [low, high] =
        std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    reduced.push_back(*low);
    if (low != high) reduced.push_back(*high);
  }
  return reduced;
}

void AppendCurve(const Curve& curve, const Chart& chart, std::string& svg) {
  const std::string colour = ColourOf(absl::StrCat("series-", curve.colour));
  std::string path, dots;
  bool open = false;
  for (const auto& [x, y] : Reduced(curve.points)) {
    if (!std::isfinite(y) || (chart.y.logarithmic && y <= 0)) {
      open = false;
      continue;
    }
    absl::StrAppendFormat(&path, "%c%.1f %.1f", open ? 'L' : 'M', chart.x.Place(x), chart.y.Place(y));
    open = true;
    if (curve.dots) {
      absl::StrAppendFormat(
          &dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" style=\"fill:%s\"><title>%s: %g at %g</title></circle>\n",
          chart.x.Place(x), chart.y.Place(y), colour, EscapeHtml(curve.name), y, x);
    }
  }
  absl::StrAppendFormat(&svg,
                        "<path d=\"%s\" fill=\"none\" %s stroke-width=\"%g\"%s "
                        "stroke-linejoin=\"round\"/>\n%s",
                        path, SeriesStroke(curve.colour), curve.faint ? 1.0 : 2.0,
                        curve.faint ? " stroke-opacity=\"0.3\"" : "", dots);
}

// Returns legend entries for the curves that have a name.
std::vector<LegendEntry> LegendOf(const CurveFigure& figure) {
  std::vector<LegendEntry> entries;
  for (const Curve& curve : figure.curves) {
    if (!curve.name.empty()) entries.push_back({curve.name, curve.colour, curve.faint});
  }
  return entries;
}

}  // namespace

std::string DrawCurves(const CurveFigure& figure) {
  std::vector<double> xs, ys;
  for (const Curve& curve : figure.curves) {
    for (const auto& [x, y] : curve.points) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  Chart chart{.title = figure.title, .x_axis = figure.x_axis, .y_axis = figure.y_axis, .x = {}, .y = {}};
  chart.x = AxisOf(xs, false);
  chart.y = AxisOf(ys, figure.logarithmic);
  if (!xs.empty() && chart.x.low < chart.x.high) {  // the x axis is from 0 or the first point to the last point
    const auto [low, high] = std::ranges::minmax(xs);
    if (low < high) chart.x.low = std::min(low, chart.x.low == 0 ? 0 : low), chart.x.high = high;
  }
  const std::string legend = DrawLegend(LegendOf(figure), chart);
  std::string svg = chart.Begin();
  if (xs.empty()) {
    svg += SvgText((chart.Left() + chart.Right()) / 2, (chart.Top() + chart.Bottom()) / 2, "nothing was recorded",
                   "text-anchor=\"middle\"");
  }
  for (const Curve& curve : figure.curves) {
    if (curve.faint) AppendCurve(curve, chart, svg);
  }
  for (const Curve& curve : figure.curves) {
    if (!curve.faint) AppendCurve(curve, chart, svg);
  }
  return svg + legend + Chart::End();
}

Points Smoothed(const Points& points, double window) {
  Points smoothed;
  const double keep = 1 - 1 / std::max(1.0, window);
  double sum = 0, weight = 0;
  for (const auto& [x, y] : points) {
    if (!std::isfinite(y)) continue;
    sum = keep * sum + (1 - keep) * y;
    weight = keep * weight + (1 - keep);
    smoothed.emplace_back(x, sum / weight);
  }
  return smoothed;
}

}  // namespace vitrine
