// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/student.h"

#include <cmath>

namespace vitrine {
namespace {

// Returns the factor of step `i` of the continued fraction of the incomplete beta function.
double FractionFactor(int i, double x, double a, double b) {
  const int half = i / 2;
  const double m = half;
  if (i == 0) return 1;
  if (i % 2 == 1) return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
  return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

// Returns the regularised incomplete beta function (Abramowitz and Stegun 26.5.8), 0 < x < 1, by Lentz's evaluation of
// its continued fraction, which converges fast for x < (a + 1) / (a + b + 2).
double BetaShare(double x, double a, double b) {
  if (x > (a + 1) / (a + b + 2)) return 1 - BetaShare(1 - x, b, a);
  constexpr int kMostSteps = 1000;
  constexpr double kPrecision = 1e-15;
  const double logarithm =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x) - std::log(a);
  double upper = 1, lower = 0, fraction = 1;
  for (int i = 0; i < kMostSteps; ++i) {
    const double factor = FractionFactor(i, x, a, b);
    lower = 1 / (1 + factor * lower);
    upper = 1 + factor / upper;
    fraction *= upper * lower;
    if (std::abs(upper * lower - 1) < kPrecision) break;
  }
  return std::exp(logarithm) * (fraction - 1);
}

}  // namespace

double StudentTail(double t, double freedom) {
  if (std::isinf(freedom)) return 0.5 * std::erfc(t / std::sqrt(2.0));
  if (t == 0) return 0.5;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double half = 0.5 * BetaShare(freedom / (freedom + t * t), freedom / 2, 0.5);
  return t > 0 ? half : 1 - half;
}

double StudentQuantile(double tail, double freedom) {
  double low = 0, high = 1;
  while (StudentTail(high, freedom) > tail) high *= 2;
  for (;;) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) return high;
    (StudentTail(middle, freedom) > tail ? low : high) = middle;
  }
}

}  // namespace vitrine
