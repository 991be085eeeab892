// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_CHART_H_
#define VITRINE_REPORT_CHART_H_

#include <string>
#include <utility>
#include <vector>

#include "report/axis.h"

namespace vitrine {

// What all SVG charts have in common: frame, grid, ticks, names.
struct Chart {
  double width = 620, height = 330;
  std::string title = {}, x_axis = {}, y_axis = {};
  std::string note = {};  // below the title, smaller; wants a `top` of 56 at least
  Axis x = {}, y = {};    // Begin sets their places
  double top = 54;        // of the plot: below the title and one line of legend
  double left = 64;       // of the plot: what y's names take
  double foot = 50;       // below the plot: what x's names take
  double margin = 18;     // at the right of the plot
  // Things that have no order of size stand beside each other, at 0, 1, ..., y's from the top; the axis is set then,
  // and has no grid.
  std::vector<std::string> x_names = {}, y_names = {};
  bool slanted = false;  // x's names, where they are wider than their places
  bool x_grid = false;   // lines at the ticks of x too
  bool is_file = false;  // it stands alone: has a size and paper of its own

  double Left() const { return left; }
  double Right() const { return width - margin; }
  double Top() const { return top; }
  double Bottom() const { return height - foot; }

  // The opening tag, the titles, grid lines and ticks.
  std::string Begin();
  static std::string End() { return "</svg>\n"; }

 private:
  std::string Opening() const;
  std::string XTicks() const;
  std::string YTicks() const;
};

// A CSS colour of the page, for instance of "series-0", "ink", "faint", "line", "bad"; with what stands in for it
// elsewhere.
std::string ColourOf(const std::string& name);

struct LegendEntry {
  std::string name;
  int colour = 0;      // of the page's series, 0 to 5
  bool faint = false;  // as thin as its curve
};

// What the colours of a chart mean, between its title or note and the plot, in as many lines as that takes, behind a
// `heading` that says of what. Makes room for them: call it before Begin, and append the result behind it.
std::string DrawLegend(const std::vector<LegendEntry>& entries, Chart& chart, const std::string& heading = "");

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes);
// `style` is all of the line's attributes but its ends.
std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& style);
// The attribute that gives a line a colour of the page.
std::string Stroke(const std::string& name);
// The line of a series, 0 to 5: its colour and, where colours are printed in grey, a dash of its own.
std::string SeriesStroke(int series);

}  // namespace vitrine

#endif  // VITRINE_REPORT_CHART_H_
