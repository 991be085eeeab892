// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_
#define VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Repeated measurements of several series, with mean and deviation.
struct DotsFigure {
  std::string title;
  std::string note;                 // below the title, smaller
  std::string x_name;               // below the groups
  std::string y_name;               // beside the axis
  std::vector<std::string> groups;  // along x, in this order
  std::vector<std::string> series;  // side by side within a group, each with a colour; at least one
  std::string series_name;          // above the legend, which is drawn for several series

  // Measurements of a series in a group.
  struct Dots {
    size_t group = 0;
    size_t series = 0;
    std::vector<double> values;  // finite
    double mean = 0;
    double deviation = 0;  // half the length of the bar; 0: no bar
    bool best = false;     // marked by a ring
  };
  std::vector<Dots> dots;
};

// Returns the figure as a self-contained SVG document: a small dot per value, a larger one at the mean with a bar of
// one deviation to either side, tooltips with the numbers. INVALID_ARGUMENT: no group or series, an index out of range,
// a non-finite value.
absl::StatusOr<std::string> DrawGroupedDots(const DotsFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_GROUPED_DOTS_H_
