// SPDX-License-Identifier: Apache-2.0
#include "common/charts/grouped_dots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/html.h"
#include "common/charts/scale.h"

namespace vitrine {
namespace {

constexpr double kDotsHeight = 380;  // height of the plot in pixels
constexpr double kLeastGroup = 74, kSeriesWidth = 26, kLeastPlot = 420, kMostPlot = 2400;
constexpr double kDotsGlyph = 6.6;
constexpr int kColours = 6;  // colours series-0 to series-5 of chart.h

std::string Shortened(const std::string& text, double width) {
  const auto letters = static_cast<size_t>(std::max(3.0, width / kDotsGlyph));
  if (text.size() <= letters) return text;
  size_t end = letters - 1;
  // The text must not be cut within a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

int ColourOfSeries(size_t series) {
  return static_cast<int>(series % kColours);
}

Axis ValuesOf(const DotsFigure& figure) {
  std::vector<double> values;
  for (const DotsFigure::Dots& dots : figure.dots) {
    values.insert(values.end(), dots.values.begin(), dots.values.end());
    values.insert(values.end(), {dots.mean - dots.deviation, dots.mean + dots.deviation});
  }
  return AxisOf(values, /*logarithmic=*/false);
}

Chart ChartOf(const DotsFigure& figure) {
  Chart chart{.title = figure.title, .x_axis = figure.x_name, .y_axis = figure.y_name, .note = figure.note};
  chart.is_file = true;
  const double groups = static_cast<double>(figure.groups.size()), series = static_cast<double>(figure.series.size());
  const double plot = std::clamp(groups * std::max(kLeastGroup, series * kSeriesWidth + 24), kLeastPlot, kMostPlot);
  for (const std::string& group : figure.groups) chart.x_names.push_back(Shortened(group, plot / groups));
  chart.width = chart.Left() + plot + chart.margin;
  chart.height += kDotsHeight - (chart.Bottom() - chart.Top());
  chart.y = ValuesOf(figure);
  return chart;
}

std::string LegendOf(const DotsFigure& figure, Chart& chart) {
  std::vector<LegendEntry> entries;
  if (figure.series.size() > 1) {
    for (size_t i = 0; i < figure.series.size(); ++i) entries.push_back({figure.series[i], ColourOfSeries(i)});
  }
  return DrawLegend(entries, chart, entries.empty() ? "" : figure.series_name);
}

void AppendDividers(const Chart& chart, std::string& svg) {
  for (size_t group = 1; group < chart.x_names.size(); ++group) {
    const double x = chart.x.Place(static_cast<double>(group) - 0.5);
    svg += SvgLine(x, chart.Top(), x, chart.Bottom(), Stroke("line"));
  }
}

void AppendDots(const DotsFigure& figure, const DotsFigure::Dots& dots, const Chart& chart, std::string& svg) {
  if (dots.values.empty()) return;
  const double within = (static_cast<double>(dots.series) + 0.5) / static_cast<double>(figure.series.size());
  const double x = chart.x.Place(static_cast<double>(dots.group) - 0.38 + 0.76 * within);
  const double y = chart.y.Place(dots.mean);
  const std::string series = absl::StrCat("series-", ColourOfSeries(dots.series)), colour = ColourOf(series);
  std::string name = figure.groups[dots.group];
  if (figure.series.size() > 1) absl::StrAppend(&name, ", ", figure.series[dots.series]);
  for (const double value : dots.values) {
    absl::StrAppendFormat(
        &svg,
        "<circle class=\"value\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" style=\"fill:%s;fill-opacity:0.45\">"
        "<title>%s: %.6g</title></circle>\n",
        x - 7, chart.y.Place(value), colour, EscapeHtml(name), value);
  }
  if (dots.deviation > 0) {
    const double top = chart.y.Place(dots.mean + dots.deviation), bottom = chart.y.Place(dots.mean - dots.deviation);
    const std::string style = absl::StrCat(Stroke(series), " stroke-width=\"1.8\"");
    svg += SvgLine(x, top, x, bottom, style) + SvgLine(x - 4, top, x + 4, top, style) +
           SvgLine(x - 4, bottom, x + 4, bottom, style);
  }
  if (dots.best) {
    absl::StrAppendFormat(
        &svg, "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"none\" %s stroke-width=\"1.4\"/>\n", x, y,
        Stroke("ink"));
  }
  absl::StrAppendFormat(
      &svg,
      "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.6\" style=\"fill:%s\"><title>%s: mean %.6g, "
      "deviation %.3g, %d runs%s</title></circle>\n",
      x, y, colour, EscapeHtml(name), dots.mean, dots.deviation, dots.values.size(), dots.best ? ", the best" : "");
}

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
  Chart chart = ChartOf(figure);
  const std::string legend = LegendOf(figure, chart);
  std::string svg = chart.Begin() + legend;
  AppendDividers(chart, svg);
  for (const DotsFigure::Dots& dots : figure.dots) AppendDots(figure, dots, chart, svg);
  return svg + Chart::End();
}

}  // namespace vitrine
