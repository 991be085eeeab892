// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/temperature.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

// Returns the derivative of the summed negative log-likelihood with respect to b = 1 / T. For each image, the
// derivative is the mean logit under softmax(b * logits) minus the logit of the right class.
double Slope(std::span<const LabelledLogits> images, double b) {
  double slope = 0;
  for (const LabelledLogits& image : images) {
    const std::vector<double> probabilities = Tempered(image.logits, 1 / b);
    for (size_t i = 0; i < probabilities.size(); ++i) slope += probabilities[i] * image.logits[i];
    slope -= image.logits[static_cast<size_t>(image.label)];
  }
  return slope;
}

}  // namespace

std::vector<double> Tempered(std::span<const float> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  probabilities.reserve(logits.size());
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp((logit - largest) / temperature));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

double FitTemperature(std::span<const LabelledLogits> images) {
  // Number of bisections. They reduce a range of 20 to less than the resolution of a double near 1.
  constexpr int kHalvings = 60;
  double low = 1 / kHottest, high = 1 / kColdest;
  if (Slope(images, low) >= 0) return kHottest;
  if (Slope(images, high) <= 0) return kColdest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (Slope(images, middle) < 0 ? low : high) = middle;
  }
  return 2 / (low + high);
}

}  // namespace vitrine
