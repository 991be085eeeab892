// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_SCATTER_H_
#define VITRINE_REPORT_SCATTER_H_

#include <string>
#include <vector>

namespace vitrine {

// What something costs and what it brings: series of points, those of a series joined in their order.
struct ScatterFigure {
  std::string title = {};
  std::string x_axis = {};   // with its unit
  std::string y_axis = {};   // with its unit
  bool logarithmic = false;  // the x axis; points of 0 and below are left out
  struct Point {
    double x = 0, y = 0;
    double low = 0, high = 0;  // ends of a bar through the point; equal: none
    std::string label = {};    // beside the point; may be empty
  };
  struct Series {
    std::string name = {};
    std::vector<Point> points = {};  // those that are not finite are left out
    int colour = 0;                  // of the page's series, 0 to 5
  };
  std::vector<Series> series = {};
};

// The chart as an SVG element for an HtmlPage; tooltips tell name, label and numbers.
std::string DrawScatter(const ScatterFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_REPORT_SCATTER_H_
