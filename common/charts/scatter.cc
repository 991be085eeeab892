// SPDX-License-Identifier: Apache-2.0
#include "common/charts/scatter.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

bool Drawn(const ScatterFigure& figure, const ScatterFigure::Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!figure.logarithmic || point.x > 0);
}

void AppendPoint(const ScatterFigure::Series& series, const ScatterFigure::Point& point, const Chart& chart,
                 std::string& svg) {
  const double x = chart.x.Place(point.x), y = chart.y.Place(point.y);
  const std::string colour = ColourOf(absl::StrCat("series-", series.colour));
  if (point.low < point.high) {
    absl::StrAppendFormat(
        &svg, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" style=\"stroke:%s\" stroke-opacity=\"0.6\"/>\n", x,
        x, chart.y.Place(point.low), chart.y.Place(point.high), colour);
  }
  absl::StrAppendFormat(&svg,
                        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" style=\"fill:%s\"><title>%s%s%s: %.5g at "
                        "%.4g</title></circle>\n",
                        x, y, colour, EscapeHtml(series.name), point.label.empty() ? "" : ", ", EscapeHtml(point.label),
                        point.y, point.x);
  if (point.label.empty()) return;
  // A label at the right border would leave the chart, so it is drawn left of its point.
  const bool left = x > chart.Right() - 7.0 * static_cast<double>(point.label.size());
  svg += SvgText(x + (left ? -9 : 9), y - 10, point.label,
                 absl::StrCat("font-size=\"11\" style=\"fill:", ColourOf("faint"), "\" text-anchor=\"",
                              left ? "end" : "start", "\""));
}

}  // namespace

std::string DrawScatter(const ScatterFigure& figure) {
  std::vector<double> xs, ys;
  std::vector<LegendEntry> names;
  for (const ScatterFigure::Series& series : figure.series) {
    names.push_back({series.name, series.colour});
    for (const ScatterFigure::Point& point : series.points) {
      if (!Drawn(figure, point)) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
      if (point.low < point.high) ys.insert(ys.end(), {point.low, point.high});
    }
  }
  Chart chart{.title = figure.title, .x_axis = figure.x_axis, .y_axis = figure.y_axis, .x = {}, .y = {}};
  chart.x = AxisOf(xs, figure.logarithmic);
  chart.y = AxisOf(ys, false);
  const std::string legend = DrawLegend(names.size() > 1 ? names : std::vector<LegendEntry>(), chart);
  std::string svg = chart.Begin() + legend;
  if (xs.empty()) {
    svg += SvgText((chart.Left() + chart.Right()) / 2, (chart.Top() + chart.Bottom()) / 2, "nothing was measured",
                   "text-anchor=\"middle\"");
  }
  for (const ScatterFigure::Series& series : figure.series) {
    std::string path;
    for (const ScatterFigure::Point& point : series.points) {
      if (!Drawn(figure, point)) continue;
      absl::StrAppendFormat(&path, "%c%.1f %.1f", path.empty() ? 'M' : 'L', chart.x.Place(point.x),
                            chart.y.Place(point.y));
    }
    absl::StrAppendFormat(&svg, "<path d=\"%s\" fill=\"none\" %s stroke-width=\"1.5\"/>\n", path,
                          SeriesStroke(series.colour));
    for (const ScatterFigure::Point& point : series.points) {
      if (Drawn(figure, point)) AppendPoint(series, point, chart, svg);
    }
  }
  return svg + Chart::End();
}

}  // namespace vitrine
