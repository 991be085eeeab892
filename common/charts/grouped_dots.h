// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_
#define VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Repeated measurements of several series, with mean and standard deviation.
struct DotsFigure {
  std::string title;
  std::string note;                 // drawn below the title in smaller letters
  std::string x_name;               // text below the groups
  std::string y_name;               // text beside the axis
  std::vector<std::string> groups;  // from left to right
  std::vector<std::string> series;  // side by side within a group, each in its own colour; at least one series
  std::string series_name;          // heading of the legend, which is drawn for two or more series

  // Measurements of one series in one group.
  struct Dots {
    size_t group = 0;
    size_t series = 0;
    std::vector<double> values;  // finite
    double mean = 0;
    double deviation = 0;  // half the length of the bar; 0: no bar
    bool best = false;     // true: marked by a ring
  };
  std::vector<Dots> dots;
};

// Returns the figure as a self-contained SVG document: a small dot per value, a larger dot at the mean with a bar of
// one standard deviation to each side, and tooltips with the numbers. INVALID_ARGUMENT: no group or series, an index
// out of range, a non-finite value.
absl::StatusOr<std::string> DrawGroupedDots(const DotsFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_
