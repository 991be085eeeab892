// SPDX-License-Identifier: Apache-2.0
#include "common/charts/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/data_table.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

using Counts = std::vector<int64_t>;  // one per bin

// Returns the axis of the bins: bin i is at positions i to i + 1.
Axis BinsOf(const HistogramFigure& figure) {
  std::vector<double> values;
  for (const HistogramFigure::Series& series : figure.series) {
    values.insert(values.end(), series.values.begin(), series.values.end());
  }
  Axis axis = AxisOf(values, figure.logarithmic);
  if (figure.low < figure.high) axis = {.low = figure.low, .high = figure.high, .logarithmic = figure.logarithmic};
  axis.from = 0, axis.to = figure.bins;
  return axis;
}

Counts CountsOf(const HistogramFigure::Series& series, const Axis& bins) {
  Counts counts(static_cast<size_t>(bins.to), 0);
  for (const double value : series.values) {
    if (!std::isfinite(value)) continue;
    const double place = bins.logarithmic && value <= 0 ? 0 : std::floor(bins.Place(value));
    ++counts[static_cast<size_t>(std::clamp(place, 0.0, bins.to - 1))];
  }
  return counts;
}

// Returns the value at the start of a bin.
double Edge(const Axis& bins, size_t bin) {
  const double share = static_cast<double>(bin) / bins.to;
  return bins.logarithmic ? bins.low * std::pow(bins.high / bins.low, share)
                          : bins.low + share * (bins.high - bins.low);
}

class Drawing {
 public:
  Drawing(const Axis& bins, const Chart& chart) : bins_(bins), chart_(chart) {}

  // Draws a bar for each bin on top of `base`, and adds the counts to `base`.
  std::string Bars(const HistogramFigure::Series& series, const Counts& counts, Counts& base) const {
    std::string svg;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const double bottom = Y(base[i]), top = Y(base[i] + counts[i]);
      base[i] += counts[i];
      absl::StrAppendFormat(&svg,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" style=\"fill:%s\">%s</rect>\n",
                            X(i) + 0.5, top, std::max(0.5, X(i + 1) - X(i) - 1), bottom - top,
                            ColourOf(absl::StrCat("series-", series.colour)), Tip(series, counts, i));
    }
    return svg;
  }

  // Draws a line along the tops of the bins.
  std::string Outline(const HistogramFigure::Series& series, const Counts& counts) const {
    std::string path = absl::StrFormat("M%.1f %.1f", X(0), chart_.Bottom()), tips;
    for (size_t i = 0; i < counts.size(); ++i) {
      absl::StrAppendFormat(&path, "V%.1fH%.1f", Y(counts[i]), X(i + 1));
      if (counts[i] == 0) continue;
      absl::StrAppendFormat(
          &tips, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill-opacity=\"0\">%s</rect>\n", X(i),
          Y(counts[i]), X(i + 1) - X(i), chart_.Bottom() - Y(counts[i]), Tip(series, counts, i));
    }
    const std::string colour = ColourOf(absl::StrCat("series-", series.colour));
    return absl::StrFormat(
        "<path class=\"dash-%d\" d=\"%sV%.1fZ\" style=\"fill:%s;stroke:%s\" fill-opacity=\"0.14\" "
        "stroke-width=\"1.5\"/>\n"
        "%s",
        series.colour, path, chart_.Bottom(), colour, colour, tips);
  }

 private:
  double X(size_t bin) const {
    return chart_.Left() + (chart_.Right() - chart_.Left()) * static_cast<double>(bin) / bins_.to;
  }
  double Y(int64_t count) const { return chart_.y.Place(static_cast<double>(count)); }
  std::string Tip(const HistogramFigure::Series& series, const Counts& counts, size_t bin) const {
    return absl::StrFormat("<title>%s%s%.3g to %.3g: %s</title>", EscapeHtml(series.name),
                           series.name.empty() ? "" : ", ", Edge(bins_, bin), Edge(bins_, bin + 1),
                           WithSeparators(counts[bin]));
  }

  const Axis& bins_;
  const Chart& chart_;
};

}  // namespace

std::string DrawHistogram(const HistogramFigure& figure) {
  const Axis bins = BinsOf(figure);
  std::vector<Counts> counts;
  Counts totals(static_cast<size_t>(figure.bins), 0);
  std::vector<LegendEntry> names;
  int64_t highest = 1;
  for (const HistogramFigure::Series& series : figure.series) {
    counts.push_back(CountsOf(series, bins));
    names.push_back({series.name, series.colour});
    for (size_t i = 0; i < totals.size(); ++i) {
      totals[i] += counts.back()[i];
      highest = std::max(highest, figure.stacked ? totals[i] : counts.back()[i]);
    }
  }
  Chart chart{.title = figure.title, .x_axis = figure.x_axis, .y_axis = figure.y_axis, .x = bins, .y = {}};
  chart.y = {.low = 0, .high = 1.05 * static_cast<double>(highest)};
  const std::string legend = DrawLegend(names.size() > 1 ? names : std::vector<LegendEntry>(), chart);
  std::string svg = chart.Begin() + legend;
  const Drawing drawing(bins, chart);
  Counts base(totals.size(), 0);
  for (size_t i = 0; i < counts.size(); ++i) {
    svg +=
        figure.stacked ? drawing.Bars(figure.series[i], counts[i], base) : drawing.Outline(figure.series[i], counts[i]);
  }
  return svg + Chart::End();
}

}  // namespace vitrine
