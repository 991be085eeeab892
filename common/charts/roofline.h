// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_ROOFLINE_H_
#define VITRINE_COMMON_CHARTS_ROOFLINE_H_

#include <string>
#include <vector>

namespace vitrine {

// Groups of operators; each has a colour and a line in the legend.
enum class RooflineGroup { kLinear, kConvolution, kNorm, kProduct, kActivation, kElementwise };

// An operator in a roofline diagram.
struct RooflinePoint {
  std::string label;
  RooflineGroup group = RooflineGroup::kLinear;
  double intensity = 0;  // FLOP per byte
  double gflops = 0;     // measured rate; without a measurement, its upper bound
  double share = 0;      // share of the time of a forward pass, 0 to 1; sets the area of the dot
};

struct Roofline {
  std::string title;
  std::string subtitle;
  std::string circumstances = {};  // conditions of the measurement, drawn below the subtitle
  bool doubtful = false;           // true: the conditions make the times unreliable and are shown in red
  std::string peak_of = "matrix product";
  double peak_gflops = 0;
  std::string bandwidth_of = "memory";
  double gigabytes_per_second = 0;
  bool measured = true;  // false: nothing was measured, and all points lie on the roof
  std::vector<RooflinePoint> points;
};

// Returns the diagram as an SVG document: logarithmic axes, the limits of memory and computation ("roofs"), a dot per
// operator, labels that do not overlap. Points without operations are left out. If dots lie above the slanted roof, the
// legend explains why.
std::string RooflineSvg(const Roofline& roofline);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_ROOFLINE_H_
