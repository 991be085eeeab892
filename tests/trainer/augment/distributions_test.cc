// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

namespace vitrine {
namespace {

constexpr int kDraws = 40000;
// For n draws of a correct sampler, Kolmogorov's distance exceeds 1.95 / sqrt(n) with a probability of 1 in 1,000.
const double kDistance = 1.95 / std::sqrt(kDraws);

double KolmogorovDistance(std::vector<double> values, const std::function<double(double)>& distribution,
                          double most = std::numeric_limits<double>::infinity()) {
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < values.size() && values[i] <= most; ++i) {
    const double expected = distribution(values[i]), n = static_cast<double>(values.size());
    distance = std::max({distance, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return distance;
}

// Distribution function of Beta(alpha, alpha) up to 1/2, from a table of the integral of (t (1 - t))^(alpha - 1) over
// t. Below alpha = 1 this integrand has a pole at 0, so the table integrates (1 - s^(1/alpha))^(alpha - 1) over s =
// t^alpha instead.
class HalfBeta {
 public:
  explicit HalfBeta(double alpha) : alpha_(alpha), top_(Place(0.5)), sums_(kSteps + 1) {
    for (int i = 0; i < kSteps; ++i) sums_[i + 1] = sums_[i] + Density((i + 0.5) * top_ / kSteps);
  }
  double operator()(double x) const {
    const double at = Place(x) / top_ * kSteps;
    const int below = std::min(kSteps - 1, static_cast<int>(at));
    return (sums_[below] + (at - below) * (sums_[below + 1] - sums_[below])) / sums_[kSteps] / 2;
  }

 private:
  static constexpr int kSteps = 20000;
  double Place(double t) const { return alpha_ < 1 ? std::pow(t, alpha_) : t; }
  double Density(double place) const {
    return alpha_ < 1 ? std::pow(1 - std::pow(place, 1 / alpha_), alpha_ - 1)
                      : std::pow(4 * place * (1 - place), alpha_ - 1);
  }

  const double alpha_, top_;
  std::vector<double> sums_;
};

class SymmetricBeta : public ::testing::TestWithParam<double> {};

TEST_P(SymmetricBeta, HasTheMomentsAndTheDistribution) {
  const double alpha = GetParam();
  CounterRandom random(1, 2, 3);
  std::vector<double> values(kDraws);
  double mean = 0, square = 0;
  for (double& value : values) {
    value = DrawSymmetricBeta(alpha, random);
    ASSERT_GE(value, 0);
    ASSERT_LE(value, 1);
    mean += value / kDraws;
    square += (value - 0.5) * (value - 0.5) / kDraws;
  }
  const double variance = 1 / (4 * (2 * alpha + 1));
  EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(variance / kDraws));
  EXPECT_NEAR(square, variance, 0.03 * variance);
  // Compares values up to 1/2 only, because with a small alpha many values round to 1.
  EXPECT_LT(KolmogorovDistance(values, HalfBeta(alpha), 0.5), kDistance);
}

INSTANTIATE_TEST_SUITE_P(Alphas, SymmetricBeta, ::testing::Values(0.05, 0.2, 0.4, 0.5, 0.8, 1.0, 2.0, 5.0, 30.0));

TEST(SymmetricBeta, TinyAlphasGiveValuesNearTheEnds) {
  CounterRandom random(1, 1, 1);
  int ends = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = DrawSymmetricBeta(1e-4, random);
    ASSERT_TRUE(value >= 0 && value <= 1);
    ends += value < 1e-6 || value > 1 - 1e-6;
  }
  EXPECT_GT(ends, 990);
}

TEST(DrawNormal, HasTheDistribution) {
  CounterRandom random(7, 8, 9);
  std::vector<double> values(kDraws);
  for (double& value : values) value = DrawNormal(random);
  EXPECT_LT(KolmogorovDistance(values, [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }), kDistance);
}

}  // namespace
}  // namespace vitrine
