// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CURVES_H_
#define VITRINE_COMMON_CHARTS_CURVES_H_

#include <string>
#include <utility>
#include <vector>

namespace vitrine {

struct Curve {
  std::string name = {};                               // name in the legend; empty: no entry
  std::vector<std::pair<double, double>> points = {};  // in ascending order of x; the line breaks at a non-finite y
  int colour = 0;                                      // index of the page's series colours, 0 to 5
  // true: a thin line behind the other curves, for example for raw data behind a smoothed curve
  bool faint = false;
  bool dots = false;  // true: a dot with a tooltip at every point
};

struct CurveFigure {
  std::string title = {};
  std::string x_axis = {};  // name of the axis, with its unit
  std::string y_axis = {};  // name of the axis, with its unit
  std::vector<Curve> curves = {};
  bool logarithmic = false;  // true: the y axis is logarithmic; the line is interrupted at values of 0 and below
};

// Returns the chart as an SVG element: titles, axes with ticks and grid lines, curves, and a legend of the named
// curves. Uses the colours of an HtmlPage; outside a page, the colours for a light background. A curve of more than
// 1,200 points is cut into 600 parts, and the minimum and maximum of each part are drawn.
std::string DrawCurves(const CurveFigure& figure);

// Returns the exponential moving average of `points`, with bias correction at the start. The newest point has the
// weight 1 / `window`. Non-finite points are ignored.
std::vector<std::pair<double, double>> Smoothed(const std::vector<std::pair<double, double>>& points, double window);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CURVES_H_
