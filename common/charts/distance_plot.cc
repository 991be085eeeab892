// SPDX-License-Identifier: Apache-2.0
#include "common/charts/distance_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr double kDistanceTop = 56, kDistanceHeight = 320, kBesideReferences = 150;
constexpr double kLeastPlotWidth = 420, kPerLayer = 44;

absl::Status Check(const DistanceFigure& figure) {
  if (figure.layers.empty() || figure.heads.empty() ||
      figure.distances.size() != figure.layers.size() * figure.heads.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a plot of ", figure.layers.size(), " layers and ",
                                                   figure.heads.size(), " heads cannot have ", figure.distances.size(),
                                                   " distances"));
  }
  if (!std::ranges::all_of(figure.distances, [](float d) { return std::isnan(d) || (std::isfinite(d) && d >= 0); })) {
    return absl::InvalidArgumentError("an attention distance is negative or infinite");
  }
  return absl::OkStatus();
}

std::string Dashed(double x1, double x2, double y) {
  return absl::StrFormat(
      "<line class=\"reference\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" style=\"stroke:%s\" "
      "stroke-dasharray=\"5 4\"/>\n",
      x1, x2, y, y, ColourOf("series-1"));
}

Chart ChartOf(const DistanceFigure& figure) {
  Chart chart{.title = figure.title, .x_axis = "layer", .y_axis = "attention distance in pixels"};
  chart.is_file = true;
  chart.note = figure.note;
  const auto absent = std::ranges::count_if(figure.distances, [](float d) { return std::isnan(d); });
  if (absent > 0) {
    absl::StrAppend(&chart.note, chart.note.empty() ? "" : "; ", absent, " of ", figure.distances.size(),
                    " heads without a dot attend to no cell of the grid");
  }
  chart.top = kDistanceTop;
  if (!figure.references.empty()) chart.margin = kBesideReferences;
  const double plot = std::max(kLeastPlotWidth, kPerLayer * static_cast<double>(figure.layers.size()));
  chart.width = chart.Left() + plot + chart.margin;
  chart.height += chart.Top() + kDistanceHeight - chart.Bottom();
  for (const int layer : figure.layers) chart.x_names.push_back(absl::StrCat(layer));
  double most = 0;
  for (const float distance : figure.distances) most = std::isnan(distance) ? most : std::max<double>(most, distance);
  for (const auto& reference : figure.references) most = std::max(most, reference.distance);
  chart.y = {.low = 0, .high = most > 0 ? 1.04 * most : 1};
  return chart;
}

// Draws each name at the right end of its line. Names of close lines are moved apart.
void AppendReferences(const DistanceFigure& figure, const Chart& chart, std::string& svg) {
  std::vector<DistanceFigure::Reference> references = figure.references;
  std::ranges::sort(references, {}, &DistanceFigure::Reference::distance);
  const std::string faint = absl::StrCat("font-size=\"11\" style=\"fill:", ColourOf("faint"), "\"");
  double lowest = chart.Bottom() + 30;
  for (const auto& reference : references) {
    const double y = chart.y.Place(reference.distance);
    lowest = std::min(y + 4, lowest - 30);
    svg += Dashed(chart.Left(), chart.Right(), y);
    svg += SvgText(chart.Right() + 8, lowest, reference.name, faint);
    svg += SvgText(chart.Right() + 8, lowest + 14, absl::StrFormat("%.1f px", reference.distance), faint);
  }
}

void AppendDots(const DistanceFigure& figure, const Chart& chart, std::string& svg) {
  const std::string colour = ColourOf("series-0");
  const size_t heads = figure.heads.size();
  for (size_t layer = 0; layer < figure.layers.size(); ++layer) {
    const double x = chart.x.Place(static_cast<double>(layer));
    double sum = 0;
    int count = 0;
    for (const float distance : figure.distances.subspan(layer * heads, heads)) {
      if (std::isnan(distance)) continue;
      sum += distance;
      ++count;
    }
    if (count == 0) continue;
    const double mean = chart.y.Place(sum / count);
    absl::StrAppendFormat(&svg,
                          "<line class=\"mean\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" style=\"stroke:%s\" "
                          "stroke-width=\"2\"/>\n",
                          x - 12, mean, x + 12, mean, ColourOf("ink"));
    for (size_t head = 0; head < heads; ++head) {
      const double distance = figure.distances[layer * heads + head];
      if (std::isnan(distance)) continue;
      absl::StrAppendFormat(&svg,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" style=\"fill:%s\" fill-opacity=\"0.55\">"
                            "<title>layer %d, head %d: %.2f px</title></circle>\n",
                            x, chart.y.Place(distance), colour, figure.layers[layer], figure.heads[head], distance);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> DrawDistancePlot(const DistanceFigure& figure) {
  RETURN_IF_ERROR(Check(figure));
  Chart chart = ChartOf(figure);
  std::string svg = chart.Begin();
  AppendReferences(figure, chart, svg);
  AppendDots(figure, chart, svg);
  return svg + Chart::End();
}

double UniformDistance(int rows, int columns, double cell_height, double cell_width) {
  // The computing time is proportional to the number of cells. To limit the time, a side of more than kFinest cells is
  // replaced by kFinest larger cells. This changes the mean by less than a millionth.
  constexpr int kFinest = 1024;
  if (rows > kFinest) return UniformDistance(kFinest, columns, cell_height * rows / kFinest, cell_width);
  if (columns > kFinest) return UniformDistance(rows, kFinest, cell_height, cell_width * columns / kFinest);
  // Sums over the offsets (dr, dc) between two cells. An offset occurs in (rows - dr) * (columns - dc) pairs of cells.
  // The offsets with a negative dr or dc occur equally often, so they are counted with the positive offset.
  double sum = 0;
  for (int dr = 0; dr < rows; ++dr) {
    for (int dc = 0; dc < columns; ++dc) {
      const double pairs = static_cast<double>(rows - dr) * (columns - dc) * (dr > 0 ? 2 : 1) * (dc > 0 ? 2 : 1);
      sum += pairs * std::hypot(dr * cell_height, dc * cell_width);
    }
  }
  const double cells = static_cast<double>(rows) * columns;
  return sum / (cells * cells);
}

}  // namespace vitrine
