// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_PAIRED_H_
#define VITRINE_COMMON_STATISTICS_PAIRED_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/statistics/interval.h"

namespace vitrine {

// A mean of independent values.
struct MeanEstimate {
  int64_t n = 0;
  double mean = 0;
  // standard deviation of the sample (divisor n - 1); 0 if all values are equal except for rounding errors
  double deviation = 0;
  std::optional<Interval> interval = {};  // 95 % by Student's t; nullopt for fewer than two values
};
// Returns the mean of `values` with its interval. If there are no values, the mean is 0.
MeanEstimate EstimateMean(std::span<const double> values);

// Result of a comparison, from its corrected p-values.
enum class Finding {
  kUndecided,
  kAbove,  // the mean difference is above 0
  kBelow,
  kEquivalent,  // the mean difference is within the margin; it may also differ from 0
};

// Minimum number of pairs for a finding.
inline constexpr int64_t kFewestPairs = 3;
// Minimum number of pairs for which the t test alone decides. With fewer, kAbove and kBelow require that all
// differences have one sign.
inline constexpr int64_t kFewPairs = 6;

// Comparison of two settings by the differences within pairs of results. The two results of a pair have everything else
// in common, such as the seed.
struct PairedTest {
  MeanEstimate difference = {};
  // two-sided p of the hypothesis that the mean is 0: by the t test, or by the sign test if all differences are equal
  double p = 1;
  double sign_p = 1;  // two-sided sign test
  // p of the hypothesis that the mean is outside the margin (two one-sided tests); 1 without a margin
  double equivalence_p = 1;
  // p and equivalence_p, each corrected for the number of comparisons in the table by Holm's method.
  double p_holm = 1;
  double equivalence_p_holm = 1;
  Finding finding = Finding::kUndecided;
  // Number of pairs that would probably give a finding. nullopt if there is a finding, if the data show no spread or no
  // difference, or if the number is above a million.
  std::optional<int64_t> needed = {};
};

// Tests all comparisons of one table, each given by the differences of its pairs. `margin` > 0 is the smallest
// difference that matters; if it is 0, equivalence is not tested. The probability of one or more false differences in
// the table is at most 5 %, and so is the probability of one or more false equivalences.
std::vector<PairedTest> TestPaired(std::span<const std::vector<double>> comparisons, double margin = 0);

// Returns the number of pairs for which a t test at one-sided level `tail` rejects the hypothesis with a probability of
// 80 %, given a true mean at `distance` from the hypothesis. The result is at least kFewestPairs, and at most one above
// the exact number. Returns nullopt if the number is above a million, or if `deviation` or `distance` is 0.
std::optional<int64_t> PairsNeeded(double deviation, double distance, double tail);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_PAIRED_H_
