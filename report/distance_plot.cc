// SPDX-License-Identifier: Apache-2.0
#include "report/distance_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

constexpr double kDistanceLeft = 64, kDistanceRight = 150, kDistanceTop = 64, kDistanceBottom = 52,
                 kDistanceHeight = 320;
constexpr double kLeastPlotWidth = 420, kPerLayer = 44;

absl::Status Check(const DistanceFigure& figure) {
  if (figure.layers.empty() || figure.heads.empty() ||
      figure.distances.size() != figure.layers.size() * figure.heads.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a plot of ", figure.layers.size(), " layers and ",
                                                   figure.heads.size(), " heads cannot have ", figure.distances.size(),
                                                   " distances"));
  }
  if (!std::ranges::all_of(figure.distances, [](float d) { return std::isfinite(d) && d >= 0; })) {
    return absl::InvalidArgumentError("an attention distance is negative or not finite");
  }
  return absl::OkStatus();
}

std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += static_cast<unsigned char>(c) < 32 ? '?' : c;
    }
  }
  return result;
}

// 1, 2 or 5 times a power of ten, so that at most six steps reach `top`.
double NiceStep(double top) {
  const double rough = top / 6;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= rough * 0.999) return factor * decade;
  }
  return 10 * decade;
}

// Turns layers and distances into places.
struct Axes {
  double width = 0, step = 1, top = 1;
  size_t layers = 1;

  explicit Axes(const DistanceFigure& figure) : layers(figure.layers.size()) {
    width = std::max(kLeastPlotWidth, kPerLayer * static_cast<double>(layers));
    double most = *std::ranges::max_element(figure.distances);
    for (const auto& reference : figure.references) most = std::max(most, reference.distance);
    if (most > 0) step = NiceStep(most);
    top = std::max(1.0, std::ceil(most * 1.04 / step)) * step;
  }
  double X(size_t layer) const {
    return kDistanceLeft + width * (static_cast<double>(layer) + 0.5) / static_cast<double>(layers);
  }
  double Y(double distance) const { return kDistanceTop + kDistanceHeight * (1 - distance / top); }
  double Right() const { return kDistanceLeft + width; }
};

void AppendAxes(const DistanceFigure& figure, const Axes& axes, std::string& svg) {
  for (int i = 0; i * axes.step <= axes.top * 1.0001; ++i) {
    const double y = axes.Y(i * axes.step);
    absl::StrAppendFormat(&svg, "<line class=\"%s\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/>\n",
                          i == 0 ? "axis" : "grid", kDistanceLeft, y, axes.Right(), y);
    absl::StrAppendFormat(&svg, "<text class=\"tick\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                          kDistanceLeft - 8, y + 4, i * axes.step);
  }
  for (size_t i = 0; i < figure.layers.size(); ++i) {
    absl::StrAppendFormat(&svg, "<line class=\"axis\" x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\"/>\n", axes.X(i),
                          kDistanceTop + kDistanceHeight, axes.X(i), kDistanceTop + kDistanceHeight + 5);
    absl::StrAppendFormat(&svg, "<text class=\"tick\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%d</text>\n",
                          axes.X(i), kDistanceTop + kDistanceHeight + 20, figure.layers[i]);
  }
  absl::StrAppendFormat(&svg, "<text class=\"name\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">layer</text>\n",
                        kDistanceLeft + axes.width / 2, kDistanceTop + kDistanceHeight + 42);
  absl::StrAppendFormat(&svg,
                        "<text class=\"name\" transform=\"translate(18 %g) rotate(-90)\" text-anchor=\"middle\">"
                        "attention distance in pixels</text>\n",
                        kDistanceTop + kDistanceHeight / 2);
}

// The names stand at the right of their lines, pushed apart where lines are close.
void AppendReferences(const DistanceFigure& figure, const Axes& axes, std::string& svg) {
  std::vector<DistanceFigure::Reference> references = figure.references;
  std::ranges::sort(references, {}, &DistanceFigure::Reference::distance);
  double lowest = kDistanceTop + kDistanceHeight + 30;
  for (const auto& reference : references) {
    const double y = axes.Y(reference.distance);
    const double text = std::min(y + 4, lowest - 30);
    lowest = text;
    absl::StrAppendFormat(&svg, "<line class=\"reference\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/>\n",
                          kDistanceLeft, y, axes.Right(), y);
    absl::StrAppendFormat(
        &svg, "<text class=\"note\" x=\"%g\" y=\"%.1f\">%s<tspan x=\"%g\" dy=\"14\">%.1f px</tspan></text>\n",
        axes.Right() + 8, text, Escaped(reference.name), axes.Right() + 8, reference.distance);
  }
}

void AppendDots(const DistanceFigure& figure, const Axes& axes, std::string& svg) {
  const size_t heads = figure.heads.size();
  for (size_t layer = 0; layer < figure.layers.size(); ++layer) {
    double sum = 0;
    for (size_t head = 0; head < heads; ++head) sum += figure.distances[layer * heads + head];
    const double mean = axes.Y(sum / static_cast<double>(heads));
    absl::StrAppendFormat(&svg, "<line class=\"mean\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                          axes.X(layer) - 12, mean, axes.X(layer) + 12, mean);
    for (size_t head = 0; head < heads; ++head) {
      const double distance = figure.distances[layer * heads + head];
      absl::StrAppendFormat(&svg,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"><title>layer %d, head %d: %.2f px</title>"
                            "</circle>\n",
                            axes.X(layer), axes.Y(distance), figure.layers[layer], figure.heads[head], distance);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> DrawDistancePlot(const DistanceFigure& figure) {
  RETURN_IF_ERROR(Check(figure));
  const Axes axes(figure);
  const double width = kDistanceLeft + axes.width + (figure.references.empty() ? 24 : kDistanceRight);
  const double height = kDistanceTop + kDistanceHeight + kDistanceBottom;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\""
      " font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n"
      "<style>\n"
      ".grid { stroke: #e4e4e4 } .axis { stroke: #707070 } .mean { stroke: #14538c; stroke-width: 2 }\n"
      ".reference { stroke: #b3541e; stroke-dasharray: 5 4 }\n"
      "circle { fill: #2f7fc1; fill-opacity: 0.55; stroke: #ffffff; stroke-width: 0.8 }\n"
      "text { fill: #303030; font-size: 12px } .tick, .note { fill: #5a5a5a; font-size: 11px }\n"
      ".title { font-size: 15px }\n"
      "</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  absl::StrAppendFormat(&svg, "<text class=\"title\" x=\"%g\" y=\"26\">%s</text>\n", kDistanceLeft,
                        Escaped(figure.title));
  absl::StrAppendFormat(&svg, "<text class=\"note\" x=\"%g\" y=\"45\">%s</text>\n", kDistanceLeft,
                        Escaped(figure.note));
  AppendAxes(figure, axes, svg);
  AppendReferences(figure, axes, svg);
  AppendDots(figure, axes, svg);
  return svg + "</svg>\n";
}

double UniformDistance(int rows, int columns, double cell_height, double cell_width) {
  // Pairs by their offset: (rows - dr) * (columns - dc) of each, twice where an offset has two signs.
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
