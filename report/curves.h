// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_CURVES_H_
#define VITRINE_REPORT_CURVES_H_

#include <string>
#include <utility>
#include <vector>

namespace vitrine {

struct Curve {
  std::string name = {};                               // of the legend; empty: not in it
  std::vector<std::pair<double, double>> points = {};  // by rising x; y that is not finite interrupts the line
  int colour = 0;                                      // of the page's series, 0 to 5
  bool faint = false;                                  // behind the others, for instance what another curve smooths
  bool dots = false;                                   // a dot at every point, whose tooltip tells it
};

struct CurveFigure {
  std::string title = {};
  std::string x_axis = {};  // with its unit
  std::string y_axis = {};  // with its unit
  std::vector<Curve> curves = {};
  bool logarithmic = false;  // the y axis; values of 0 and below interrupt the line
};

// The chart as an SVG element: titles, axes with ticks and grid lines, the curves, and a legend of those that have
// a name. Colours are an HtmlPage's; without a page they are for light paper. A curve of more points than the chart has
// pixels is reduced to the extremes of each pixel.
std::string DrawCurves(const CurveFigure& figure);

// The exponential moving average over `points`, corrected for its start, with a weight of 1 / `window` for the newest.
// Points that are not finite are passed over.
std::vector<std::pair<double, double>> Smoothed(const std::vector<std::pair<double, double>>& points, double window);

}  // namespace vitrine

#endif  // VITRINE_REPORT_CURVES_H_
