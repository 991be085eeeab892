// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HISTOGRAM_H_
#define VITRINE_COMMON_CHARTS_HISTOGRAM_H_

#include <string>
#include <vector>

namespace vitrine {

// Frequency of values.
struct HistogramFigure {
  std::string title = {};
  std::string x_axis = {};  // with its unit
  std::string y_axis = {};
  bool logarithmic = false;  // x axis, with bins of equal ratio; values of 0 and below go into the first bin
  int bins = 40;             // at least 1
  // Ends of the x axis; equal: derived from the values. Values beyond go into the first or last bin.
  double low = 0, high = 0;
  // true: bars on top of each other, the first series at the bottom; false: overlaid outlines.
  bool stacked = false;
  struct Series {
    std::string name = {};
    std::vector<double> values = {};  // non-finite ones are ignored
    int colour = 0;                   // index of the page's series colours, 0 to 5
  };
  std::vector<Series> series = {};
};

// Returns the chart as an SVG element for an HtmlPage; tooltips show the counts.
std::string DrawHistogram(const HistogramFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HISTOGRAM_H_
