// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/erasing.h"

#include <cmath>
#include <cstddef>

#include "trainer/augment/distributions.h"

namespace vitrine {
namespace {

constexpr int kTries = 10;
constexpr double kLeastAspect = 0.3;

}  // namespace

void EraseAtRandom(const v1::RandomErasing& settings, Size size, std::span<float> values, CounterRandom& random) {
  if (!(random.Uniform() < settings.probability())) return;
  const double least = settings.has_min_area() ? settings.min_area() : 0.02;
  const double most = settings.has_max_area() ? settings.max_area() : 1.0 / 3;
  const int64_t plane = int64_t{size.height} * size.width;
  for (int i = 0; i < kTries; ++i) {
    const double area = random.Uniform(least, most) * static_cast<double>(plane);
    const double aspect = std::exp(random.Uniform(std::log(kLeastAspect), -std::log(kLeastAspect)));
    const int64_t height = std::lround(std::sqrt(area * aspect)), width = std::lround(std::sqrt(area / aspect));
    if (height >= size.height || width >= size.width) continue;
    const int64_t top = random.Below(size.height - height + 1), left = random.Below(size.width - width + 1);
    for (int64_t first = 0; first < static_cast<int64_t>(values.size()); first += plane) {
      for (int64_t y = top; y < top + height; ++y) {
        for (int64_t x = left; x < left + width; ++x) {
          values[static_cast<size_t>(first + y * size.width + x)] = static_cast<float>(DrawNormal(random));
        }
      }
    }
    return;
  }
}

}  // namespace vitrine
