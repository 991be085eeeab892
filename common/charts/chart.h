// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CHART_H_
#define VITRINE_COMMON_CHARTS_CHART_H_

#include <string>
#include <utility>
#include <vector>

#include "common/charts/scale.h"

namespace vitrine {

// Frame, grid, ticks and names of an SVG chart.
struct Chart {
  double width = 620, height = 330;
  std::string title = {}, x_axis = {}, y_axis = {};  // Begin adds "logarithmic" to the name of a logarithmic axis
  std::string note = {};  // drawn below the title in smaller letters; requires a `top` of at least 56
  Axis x = {}, y = {};    // Begin sets their positions in pixels
  double top = 54;        // pixels above the plot, for title and one line of legend
  double left = 64;       // pixels left of the plot, for labels of the y axis
  double foot = 50;       // pixels below the plot, for labels of the x axis
  double margin = 18;     // pixels right of the plot
  // Names of categories, drawn at positions 0, 1, ... from the left or from the top. An axis with names has no grid,
  // and Begin sets its range.
  std::vector<std::string> x_names = {}, y_names = {};
  bool slanted = false;  // true: x_names are slanted, for names wider than their space
  bool x_grid = false;   // true: lines are also drawn at the ticks of x
  bool is_file = false;  // true: a standalone file with its own size and background

  double Left() const { return left; }
  double Right() const { return width - margin; }
  double Top() const { return top; }
  double Bottom() const { return height - foot; }

  // Returns the SVG's opening tag, the title and the note.
  std::string Opening() const;
  // Returns the result of Opening, then the grid lines and the ticks.
  std::string Begin();
  static std::string End() { return "</svg>\n"; }

 private:
  std::string XTicks() const;
  std::string YTicks() const;
};

// Returns the CSS variable of a colour: "series-0" to "series-5", "ink", "faint", "line", "paper" or "bad". The result
// contains a fallback value for SVG outside a page.
std::string ColourOf(const std::string& name);

struct LegendEntry {
  std::string name;
  int colour = 0;      // index of the page's series colours, 0 to 5
  bool faint = false;  // true: drawn as a pale line
};

// Returns the legend, which starts with `heading` and is drawn above the plot on as many lines as needed. Enlarges
// `chart.top` for the legend, so call DrawLegend before Begin, and append the legend after the result of Begin.
std::string DrawLegend(const std::vector<LegendEntry>& entries, Chart& chart, const std::string& heading = "");

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes);
// Returns a line as an SVG element. `style`: all attributes of the line except its end points.
std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& style);
// Returns the SVG attribute for a stroke in a colour of the page.
std::string Stroke(const std::string& name);
// Returns the SVG attributes for the stroke of a series, 0 to 5: its colour, and its dash pattern for greyscale print.
std::string SeriesStroke(int series);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CHART_H_
