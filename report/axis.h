// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_AXIS_H_
#define VITRINE_REPORT_AXIS_H_

#include <string>
#include <vector>

namespace vitrine {

// One axis of a chart: turns values into places along it.
struct Axis {
  double low = 0, high = 1;  // values at its ends; low < high
  bool logarithmic = false;  // then low > 0
  double from = 0, to = 1;   // places of the ends, in pixels; `to` may lie before `from`

  double Place(double value) const;
  // Round values within the ends: 1, 2 or 5 times a power of ten apart, at most `most`; powers of ten on a logarithmic
  // axis, with 2 and 5 times them where there are few, and as on a linear one where even those are fewer than two.
  std::vector<double> Ticks(int most) const;
};

// The axis that holds every finite value, a little wider. Values that a logarithmic axis cannot hold are passed over.
// Starts at 0 where values are at least 0 and spread as widely as they are large. Without a value it is 0 to 1.
Axis AxisOf(const std::vector<double>& values, bool logarithmic);

// "0.01", "20", "5k", "1e-05": what stands at a tick.
std::string TickText(double value);

}  // namespace vitrine

#endif  // VITRINE_REPORT_AXIS_H_
