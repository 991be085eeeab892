// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_CHART_H_
#define VITRINE_REPORT_CHART_H_

#include <string>
#include <utility>
#include <vector>

#include "report/axis.h"

namespace vitrine {

// What the SVG charts of an HtmlPage have in common: frame, grid, ticks, names.
struct Chart {
  double width = 620, height = 330;
  std::string title = {}, x_axis = {}, y_axis = {};
  Axis x = {}, y = {};  // Begin sets their places
  double top = 54;      // of the plot: below the title and one line of legend
  double margin = 18;   // at the right of the plot
  // Things that have no order of size stand beside each other, at 0, 1, ...; x is set then.
  std::vector<std::string> x_names = {};
  bool is_file = false;  // it stands alone: has a size and paper of its own

  double Left() const { return 64; }
  double Right() const { return width - margin; }
  double Top() const { return top; }
  double Bottom() const { return height - 50; }

  // The opening tag, the titles, grid lines and ticks.
  std::string Begin();
  static std::string End() { return "</svg>\n"; }

 private:
  std::vector<std::pair<double, std::string>> XTicks() const;  // places and what stands there
};

// A CSS colour of the page, for instance of "series-0", "ink", "faint", "line"; with what stands in for it elsewhere.
std::string ColourOf(const std::string& name);

struct LegendEntry {
  std::string name;
  int colour = 0;      // of the page's series, 0 to 5
  bool faint = false;  // as thin as its curve
};

// What the colours of a chart mean, between its title and the plot, in as many lines as that takes. Makes room for
// them: call it before Begin, and append the result behind it.
std::string DrawLegend(const std::vector<LegendEntry>& entries, Chart& chart);

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes);

}  // namespace vitrine

#endif  // VITRINE_REPORT_CHART_H_
