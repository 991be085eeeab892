#ifndef VITRINE_REPORT_CHART_H_
#define VITRINE_REPORT_CHART_H_

#include <string>

#include "report/axis.h"

namespace vitrine {

// What the SVG charts of an HtmlPage have in common: frame, grid, ticks, names.
struct Chart {
  double width = 620, height = 330;
  std::string title = {}, x_axis = {}, y_axis = {};
  Axis x = {}, y = {};  // Begin sets their places

  double Left() const { return 64; }
  double Right() const { return width - 18; }
  double Top() const { return 54; }
  double Bottom() const { return height - 50; }

  // The opening tag, the titles, grid lines and ticks.
  std::string Begin();
  static std::string End() { return "</svg>\n"; }
};

// A CSS colour of the page, for instance of "series-0", "ink", "faint", "line"; with what stands in for it elsewhere.
std::string ColourOf(const std::string& name);

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes);

}  // namespace vitrine

#endif  // VITRINE_REPORT_CHART_H_
