// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/distributions.h"

#include <cmath>
#include <numbers>

namespace vitrine {
namespace {

// Draws by Ulrich's method (1984), for alpha >= 1/2. Takes a point of the plane in a uniform direction, at distance r
// from 0, where r^2 = 1 - V^(1 / (alpha - 1/2)) for a uniform V. Its first coordinate is Beta(alpha, alpha) on [-1, 1].
double BetaFromDisc(double alpha, CounterRandom& random) {
  const double radius = std::sqrt(1 - std::pow(random.Uniform(), 1 / (alpha - 0.5)));
  const double angle = 2 * std::numbers::pi * random.Uniform();
  return (1 + radius * std::cos(angle)) / 2;
}

// Draws X / (X + Y) by Joehnk's method (1964): X = U^(1/alpha) and Y = V^(1/alpha) for uniform U and V. Rejects pairs
// with X + Y > 1, at most 1 - pi/4 of them if alpha <= 1/2. Uses logarithms, as X and Y underflow for small alpha.
double BetaByRejection(double alpha, CounterRandom& random) {
  while (true) {
    // 1 - u is in (0, 1].
    const double x = std::log(1 - random.Uniform()) / alpha, y = std::log(1 - random.Uniform()) / alpha;
    if (std::exp(x) + std::exp(y) <= 1) return 1 / (1 + std::exp(y - x));
  }
}

}  // namespace

double DrawNormal(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));  // Box and Muller 1958
  return radius * std::cos(2 * std::numbers::pi * random.Uniform());
}

double DrawSymmetricBeta(double alpha, CounterRandom& random) {
  return alpha < 0.5 ? BetaByRejection(alpha, random) : BetaFromDisc(alpha, random);
}

}  // namespace vitrine
