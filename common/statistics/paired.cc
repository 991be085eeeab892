// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/paired.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "common/statistics/holm.h"
#include "common/statistics/sign_test.h"
#include "common/statistics/significance.h"

namespace vitrine {
namespace {

constexpr double kTail = 0.025;      // probability outside a 95 % interval, on each side
constexpr double kMissed = 0.2;      // allowed probability of an undecided comparison in PairsNeeded
constexpr double kRounding = 1e-10;  // relative tolerance: differences within it are equal except for rounding
constexpr double kMostPairs = 1e6;

namespace policies = boost::math::policies;

// Student's t distribution with `freedom` degrees of freedom; infinity gives the normal distribution. With these
// policies, results are NaN for scores that are not finite; by default, Boost would throw an exception.
using Student = boost::math::students_t_distribution<
    double, policies::policy<
                policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
                policies::overflow_error<policies::ignore_error>, policies::evaluation_error<policies::ignore_error>>>;

// Returns the probability of a value above `t`.
double StudentTail(double t, double freedom) {
  return boost::math::cdf(boost::math::complement(Student(freedom), t));
}

// Returns the t that is exceeded with probability `tail`.
double StudentQuantile(double tail, double freedom) {
  return boost::math::quantile(boost::math::complement(Student(freedom), tail));
}

// Returns the one-sided p of the hypothesis that the true mean is at most `bound`.
double ChanceAbove(const MeanEstimate& estimate, double bound) {
  if (estimate.n < 2) return 1;
  const double n = static_cast<double>(estimate.n);
  // If all values are equal, they give no estimate of the spread, so only their signs count.
  if (estimate.deviation == 0) return estimate.mean > bound ? std::pow(0.5, n) : 1;
  return StudentTail((estimate.mean - bound) * std::sqrt(n) / estimate.deviation, n - 1);
}

double ChanceBelow(MeanEstimate estimate, double bound) {
  estimate.mean = -estimate.mean;
  return ChanceAbove(estimate, -bound);
}

PairedTest TestOne(const std::vector<double>& differences, double margin) {
  PairedTest test{.difference = EstimateMean(differences)};
  const MeanEstimate& found = test.difference;
  test.p = std::min({1.0, 2 * ChanceAbove(found, 0), 2 * ChanceBelow(found, 0)});
  test.sign_p = SignTest(std::ranges::count_if(differences, [](double value) { return value > 0; }),
                         std::ranges::count_if(differences, [](double value) { return value < 0; }));
  if (margin > 0) test.equivalence_p = std::max(ChanceAbove(found, -margin), ChanceBelow(found, margin));
  return test;
}

bool OneSign(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; }) ||
         std::ranges::all_of(values, [](double value) { return value < 0; });
}

void Decide(const std::vector<double>& differences, double margin, double comparisons, PairedTest& test) {
  const MeanEstimate& found = test.difference;
  const bool enough = found.n >= kFewestPairs;
  if (enough && test.equivalence_p_holm < kSignificantP) {
    test.finding = Finding::kEquivalent;
  } else if (enough && test.p_holm < kSignificantP && (found.n >= kFewPairs || OneSign(differences))) {
    test.finding = found.mean > 0 ? Finding::kAbove : Finding::kBelow;
  } else {
    const double distance = std::abs(found.mean);
    test.needed = distance < margin ? PairsNeeded(found.deviation, margin - distance, kSignificantP / comparisons)
                                    : PairsNeeded(found.deviation, distance, kSignificantP / 2 / comparisons);
  }
}

}  // namespace

MeanEstimate EstimateMean(std::span<const double> values) {
  MeanEstimate estimate{.n = std::ssize(values)};
  if (values.empty()) return estimate;
  const double n = static_cast<double>(values.size());
  for (const double value : values) estimate.mean += value;
  estimate.mean /= n;
  if (values.size() < 2) return estimate;
  double squares = 0;
  for (const double value : values) squares += (value - estimate.mean) * (value - estimate.mean);
  estimate.deviation = std::sqrt(squares / (n - 1));
  if (estimate.deviation <= kRounding * std::abs(estimate.mean)) estimate.deviation = 0;
  const double half = StudentQuantile(kTail, n - 1) * estimate.deviation / std::sqrt(n);
  estimate.interval = Interval{.low = estimate.mean - half, .high = estimate.mean + half};
  return estimate;
}

std::vector<PairedTest> TestPaired(std::span<const std::vector<double>> comparisons, double margin) {
  std::vector<PairedTest> tests;
  std::vector<double> p, equivalence_p;
  for (const std::vector<double>& differences : comparisons) {
    tests.push_back(TestOne(differences, margin));
    p.push_back(tests.back().p);
    equivalence_p.push_back(tests.back().equivalence_p);
  }
  const std::vector<double> p_holm = HolmAdjusted(p), equivalence_p_holm = HolmAdjusted(equivalence_p);
  for (size_t i = 0; i < tests.size(); ++i) {
    tests[i].p_holm = p_holm[i];
    tests[i].equivalence_p_holm = equivalence_p_holm[i];
    Decide(comparisons[i], margin, static_cast<double>(tests.size()), tests[i]);
  }
  return tests;
}

std::optional<int64_t> PairsNeeded(double deviation, double distance, double tail) {
  if (deviation <= 0 || distance <= 0) return std::nullopt;
  constexpr double kNormal = std::numeric_limits<double>::infinity();
  const double ratio = deviation / distance;
  // The normal distribution has smaller quantiles than Student's t. So the number of pairs computed from them is a
  // lower bound, from which the search starts.
  const double quantiles = StudentQuantile(tail, kNormal) + StudentQuantile(kMissed, kNormal);
  double n = std::max<double>(kFewestPairs, std::ceil(quantiles * ratio * quantiles * ratio));
  if (n > kMostPairs) return std::nullopt;
  while ((StudentQuantile(tail, n - 1) + StudentQuantile(kMissed, n - 1)) * ratio > std::sqrt(n)) ++n;
  return static_cast<int64_t>(n);
}

}  // namespace vitrine
