// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HISTOGRAM_H_
#define VITRINE_COMMON_CHARTS_HISTOGRAM_H_

#include <string>
#include <vector>

namespace vitrine {

// Histogram of one or several series of values.
struct HistogramFigure {
  std::string title = {};
  std::string x_axis = {};  // name of the axis, with its unit
  std::string y_axis = {};
  // true: the x axis is logarithmic, with bins of equal ratio; values of 0 and below are counted in the first bin
  bool logarithmic = false;
  int bins = 40;  // at least 1
  // Ends of the x axis; if equal, they are derived from the values. Values outside the ends are counted in the first or
  // last bin.
  double low = 0, high = 0;
  // True: the bars of the series are stacked, the first series at the bottom. False: the outlines of the series
  // overlap.
  bool stacked = false;
  struct Series {
    std::string name = {};
    std::vector<double> values = {};  // non-finite values are ignored
    int colour = 0;                   // index of the page's series colours, 0 to 5
  };
  std::vector<Series> series = {};
};

// Returns the chart as an SVG element for an HtmlPage; tooltips show the counts.
std::string DrawHistogram(const HistogramFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HISTOGRAM_H_
