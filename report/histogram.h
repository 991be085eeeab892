// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_HISTOGRAM_H_
#define VITRINE_REPORT_HISTOGRAM_H_

#include <string>
#include <vector>

namespace vitrine {

// How often values occur.
struct HistogramFigure {
  std::string title = {};
  std::string x_axis = {};  // with its unit
  std::string y_axis = {};
  bool logarithmic = false;  // the x axis, and bins of equal ratio; values of 0 and below go into the first bin
  int bins = 40;             // at least 1
  // Ends of the x axis; equal: the values decide. Values beyond go into the bins at the ends.
  double low = 0, high = 0;
  // Bars on top of each other, the first series at the bottom; else outlines over each other.
  bool stacked = false;
  struct Series {
    std::string name = {};
    std::vector<double> values = {};  // those that are not finite are passed over
    int colour = 0;                   // of the page's series, 0 to 5
  };
  std::vector<Series> series = {};
};

// The chart as an SVG element for an HtmlPage; tooltips tell the counts.
std::string DrawHistogram(const HistogramFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_REPORT_HISTOGRAM_H_
