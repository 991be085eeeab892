// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CURVES_H_
#define VITRINE_COMMON_CHARTS_CURVES_H_

#include <string>
#include <utility>
#include <vector>

namespace vitrine {

struct Curve {
  std::string name = {};                               // name in the legend; empty: not in it
  std::vector<std::pair<double, double>> points = {};  // by ascending x; a non-finite y interrupts the line
  int colour = 0;                                      // index of the page's series colours, 0 to 5
  bool faint = false;                                  // drawn behind the others, for example the data of a smoothed
                                                       // curve
  bool dots = false;                                   // a dot with a tooltip at every point
};

struct CurveFigure {
  std::string title = {};
  std::string x_axis = {};  // with its unit
  std::string y_axis = {};  // with its unit
  std::vector<Curve> curves = {};
  bool logarithmic = false;  // the y axis; values of 0 and below interrupt the line
};

// Returns the chart as an SVG element: titles, axes with ticks and grid lines, the curves, and a legend of the named
// ones. Uses the colours of an HtmlPage; without a page those for light background. A curve with more points than the
// chart has pixels is reduced to the extremes of each pixel.
std::string DrawCurves(const CurveFigure& figure);

// Returns the exponential moving average over `points`, corrected for its start, with a weight of 1 / `window` for the
// newest. Non-finite points are ignored.
std::vector<std::pair<double, double>> Smoothed(const std::vector<std::pair<double, double>>& points, double window);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CURVES_H_
