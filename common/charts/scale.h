// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_SCALE_H_
#define VITRINE_COMMON_CHARTS_SCALE_H_

#include <string>
#include <vector>

namespace vitrine {

// An axis of a chart, which maps values to positions.
struct Axis {
  double low = 0, high = 1;  // values at the ends of the axis; low < high
  bool logarithmic = false;  // true: low must be above 0
  double from = 0, to = 1;   // positions of the ends, in pixels; `to` may be below `from`

  double Place(double value) const;
  // Returns about `most` round values within the ends. On a linear axis they are 1, 2 or 5 times a power of ten apart.
  // On a logarithmic axis they are powers of ten and, if there is room, 2 and 5 times these powers. If fewer than two
  // of these values lie within the ends, the values of a linear axis are used.
  std::vector<double> Ticks(int most) const;
};

// Returns an axis that contains every finite value and a small margin; without such values, a linear axis from 0 to 1.
// A logarithmic axis ignores values of 0 and below. A linear axis starts at 0 if no value is negative and the smallest
// is below half the largest.
Axis AxisOf(const std::vector<double>& values, bool logarithmic);

// Returns the label of a tick, for example "0.01", "20", "50k" or "1e-05".
std::string TickText(double value);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_SCALE_H_
