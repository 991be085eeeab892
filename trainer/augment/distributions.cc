// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/distributions.h"

#include <cmath>
#include <numbers>

namespace vitrine {
namespace {

// Draws by Ulrich's method (1984), for alpha >= 1/2. If r^2 = 1 - V^(1 / (alpha - 1/2)) for a uniform V, a point of the
// plane at distance r from 0, in a uniform direction, has a first coordinate with Beta(alpha, alpha) on [-1, 1].
double BetaFromDisc(double alpha, CounterRandom& random) {
  const double radius = std::sqrt(1 - std::pow(random.Uniform(), 1 / (alpha - 0.5)));
  const double angle = 2 * std::numbers::pi * random.Uniform();
  return (1 + radius * std::cos(angle)) / 2;
}

// Draws by Joehnk's method (1964): X / (X + Y) for X = U^(1/alpha), Y = V^(1/alpha), U and V uniform, X + Y <= 1. At
// alpha <= 1/2 at least pi/4 of the pairs are accepted. Computes in logarithms, as X and Y underflow for small alpha.
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
