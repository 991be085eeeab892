// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_SCATTER_H_
#define VITRINE_COMMON_CHARTS_SCATTER_H_

#include <string>
#include <vector>

namespace vitrine {

// Scatter plot, for example of accuracy over cost: each series is a line through its points in the given order.
struct ScatterFigure {
  std::string title = {};
  std::string x_axis = {};   // name of the axis, with its unit
  std::string y_axis = {};   // name of the axis, with its unit
  bool logarithmic = false;  // true: the x axis is logarithmic; points at 0 and below are left out
  struct Point {
    double x = 0, y = 0;
    double low = 0, high = 0;  // ends of the error bar; equal: no bar
    std::string label = {};    // drawn beside the point; may be empty
  };
  struct Series {
    std::string name = {};
    std::vector<Point> points = {};  // non-finite points are left out
    int colour = 0;                  // index of the page's series colours, 0 to 5
  };
  std::vector<Series> series = {};
};

// Returns the chart as an SVG element for an HtmlPage; tooltips show name, label and numbers.
std::string DrawScatter(const ScatterFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_SCATTER_H_
