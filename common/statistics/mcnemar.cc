// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/mcnemar.h"

#include <algorithm>
#include <cmath>

#include "common/statistics/sign_test.h"

namespace vitrine {
namespace {

constexpr int64_t kExactBelow = 25;

// Returns the correlation between "the first is right" and "the second is right" over the images, with the continuity
// correction of Newcombe's method 10.
double Correlation(const PairedCounts& counts) {
  const double a = static_cast<double>(counts.both), b = static_cast<double>(counts.only_first);
  const double c = static_cast<double>(counts.only_second), d = static_cast<double>(counts.neither);
  const double product = (a + b) * (c + d) * (a + c) * (b + d);
  if (product == 0) return 0;
  double excess = a * d - b * c;
  if (excess > 0) excess = std::max(0.0, excess - (a + b + c + d) / 2);
  return excess / std::sqrt(product);
}

}  // namespace

McNemar TestMcNemar(const PairedCounts& counts) {
  const int64_t disagreements = counts.only_first + counts.only_second;
  McNemar test;
  if (disagreements < kExactBelow) {
    test.p = SignTest(counts.only_first, counts.only_second);
    return test;
  }
  test.exact = false;
  const double difference = static_cast<double>(std::abs(counts.only_first - counts.only_second));
  const double corrected = std::max(0.0, difference - 1);
  test.statistic = corrected * corrected / static_cast<double>(disagreements);
  test.p = std::erfc(std::sqrt(test.statistic / 2));
  return test;
}

double PairedDifference(const PairedCounts& counts) {
  if (counts.all() == 0) return 0;
  return static_cast<double>(counts.only_second - counts.only_first) / static_cast<double>(counts.all());
}

Interval PairedDifferenceInterval(const PairedCounts& counts) {
  const int64_t all = counts.all();
  if (all == 0) return {-1, 1};
  const int64_t right_first = counts.both + counts.only_first, right_second = counts.both + counts.only_second;
  const double first = static_cast<double>(right_first) / static_cast<double>(all);
  const double second = static_cast<double>(right_second) / static_cast<double>(all);
  const Interval of_first = WilsonInterval(right_first, all), of_second = WilsonInterval(right_second, all);
  const double correlation = Correlation(counts);
  const auto joined = [&](double a, double b) {
    return std::sqrt(std::max(0.0, a * a - 2 * correlation * a * b + b * b));
  };
  return {.low = second - first - joined(second - of_second.low, of_first.high - first),
          .high = second - first + joined(of_second.high - second, first - of_first.low)};
}

}  // namespace vitrine
