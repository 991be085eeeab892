// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_TEMPERATURE_H_
#define VITRINE_CLIENT_EVAL_TEMPERATURE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// What a classifier said of one picture, and what it is.
struct LabelledLogits {
  std::span<const float> logits = {};  // one for each class, finite
  int32_t label = 0;                   // the class that is right
};

// The temperatures that a manifest takes.
inline constexpr double kColdest = 0.05;
inline constexpr double kHottest = 20;

// The temperature T in [kColdest, kHottest] at which the mean of -log softmax(logits / T)[label] is least (Guo et al.
// 2017, section 4.2). As a function of 1 / T that mean is convex, so its slope is bisected: the same pictures in the
// same order give the same bits. At a bound where the slope has one sign, for instance where every answer is right.
// Requires a picture.
double FitTemperature(std::span<const LabelledLogits> pictures);

// Softmax of logits / temperature, computed in double.
std::vector<double> Tempered(std::span<const float> logits, double temperature);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_TEMPERATURE_H_
