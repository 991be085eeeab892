// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_AXIS_H_
#define VITRINE_COMMON_CHARTS_AXIS_H_

#include <string>
#include <vector>

namespace vitrine {

// One axis of a chart: maps values to positions.
struct Axis {
  double low = 0, high = 1;  // values at its ends; low < high
  bool logarithmic = false;  // then low > 0
  double from = 0, to = 1;   // positions of the ends, in pixels; `to` may be below `from`

  double Place(double value) const;
  // Returns round values within the ends: 1, 2 or 5 times a power of ten apart, at most `most`; powers of ten on a
  // logarithmic axis, with 2 and 5 times them if there are few, and those of a linear axis if there are fewer than two.
  std::vector<double> Ticks(int most) const;
};

// Returns an axis that contains every finite value, a little wider. A logarithmic axis ignores values of 0 and below.
// Starts at 0 if no value is negative and their spread is as large as their size. Without a value it is 0 to 1.
Axis AxisOf(const std::vector<double>& values, bool logarithmic);

// Returns the label of a tick: "0.01", "20", "5k", "1e-05".
std::string TickText(double value);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_AXIS_H_
