// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_TEMPERATURE_H_
#define VITRINE_COMMON_STATISTICS_TEMPERATURE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// Logits of one image, and its right class.
struct LabelledLogits {
  std::span<const float> logits = {};  // logits of all classes, in class order; finite
  int32_t label = 0;                   // right class
};

// Range of temperatures that a manifest allows.
inline constexpr double kColdest = 0.05;
inline constexpr double kHottest = 20;

// Returns the temperature T in [kColdest, kHottest] with the smallest mean of -log softmax(logits / T)[label] (Guo et
// al. 2017, section 4.2). This mean is convex in 1 / T, so the zero of its slope is found by bisection. Equal images in
// equal order give bitwise equal results. If the slope does not change sign, for example because every answer is right,
// returns a bound of the range. Requires at least one image.
double FitTemperature(std::span<const LabelledLogits> images);

// Returns softmax of logits / temperature, computed in double.
std::vector<double> Tempered(std::span<const float> logits, double temperature);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_TEMPERATURE_H_
