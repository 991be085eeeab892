// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_MCNEMAR_H_
#define VITRINE_COMMON_STATISTICS_MCNEMAR_H_

#include <cstdint>

#include "common/statistics/proportion.h"

namespace vitrine {

// Results of two classifiers on the same images.
struct PairedCounts {
  int64_t both = 0;         // images that both classify correctly
  int64_t only_first = 0;   // images that only the first classifies correctly
  int64_t only_second = 0;  // images that only the second classifies correctly
  int64_t neither = 0;      // images that neither classifies correctly
  int64_t all() const { return both + only_first + only_second + neither; }
};

// McNemar's test (1947) of the hypothesis that two classifiers are equally accurate. Only images with one right and one
// wrong answer count. Under the hypothesis, the right answer is equally likely to come from either classifier.
struct McNemar {
  bool exact = true;     // true: exact binomial test; false: chi-squared with Edwards' continuity correction (1948)
  double statistic = 0;  // chi-squared with one degree of freedom; 0 for the exact test
  double p = 1;          // two-sided
};

// Uses the exact test if fewer than 25 images have one right and one wrong answer, because the chi-squared distribution
// is then a poor approximation.
McNemar TestMcNemar(const PairedCounts& counts);

// Returns the accuracy of the second classifier minus the accuracy of the first, -1 to 1.
double PairedDifference(const PairedCounts& counts);
// Returns the 95 % confidence interval of PairedDifference by method 10 of Newcombe (1998, Statistics in Medicine 17,
// 2635-2650), which combines the Wilson intervals of both accuracies with their correlation. Without images, returns -1
// to 1.
Interval PairedDifferenceInterval(const PairedCounts& counts);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_MCNEMAR_H_
