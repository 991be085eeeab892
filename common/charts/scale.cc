// SPDX-License-Identifier: Apache-2.0
#include "common/charts/scale.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

std::vector<double> LinearTicks(double low, double high, int most) {
  const double rough = (high - low) / most;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= rough * 0.999) {
      step = factor * decade;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

std::vector<double> LogarithmicTicks(double low, double high, int most) {
  std::vector<double> ticks;
  const double decades = std::log10(high / low);
  const double stride = std::max(1.0, std::ceil(decades / most));
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && 3 * decades > most) break;
      const double tick = factor * std::pow(10, power);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

}  // namespace

double Axis::Place(double value) const {
  const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

std::vector<double> Axis::Ticks(int most) const {
  if (!logarithmic) return LinearTicks(low, high, most);
  std::vector<double> ticks = LogarithmicTicks(low, high, most);
  return ticks.size() > 1 ? ticks : LinearTicks(low, high, most);
}

Axis AxisOf(const std::vector<double>& values, bool logarithmic) {
  Axis axis{.logarithmic = logarithmic};
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) continue;
    axis.low = any ? std::min(axis.low, value) : value;
    axis.high = any ? std::max(axis.high, value) : value;
    any = true;
  }
  if (!any) return {};
  if (logarithmic) {
    axis.low /= 1.1;
    axis.high *= 1.1;
    return axis;
  }
  const double spread = axis.high - axis.low;
  if (spread <= 1e-12 * std::abs(axis.high)) {  // a single value is drawn in the middle
    const double room = axis.high == 0 ? 1 : std::abs(axis.high) / 2;
    axis.low -= room;
    axis.high += room;
    return axis;
  }
  const bool from_zero = axis.low >= 0 && axis.low < 0.5 * axis.high;
  axis.low = from_zero ? 0 : axis.low - 0.04 * spread;
  axis.high += 0.04 * spread;
  return axis;
}

std::string TickText(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return absl::StrFormat("%gM", value / 1e6);
  if (size >= 1e4) return absl::StrFormat("%gk", value / 1e3);
  return absl::StrFormat("%.6g", value);
}

}  // namespace vitrine
