// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_SIGNIFICANCE_H_
#define VITRINE_COMMON_STATISTICS_SIGNIFICANCE_H_

#include <string>

namespace vitrine {

// Significance level: a (corrected) p-value below this level shows a difference.
inline constexpr double kSignificantP = 0.05;

// Returns "0.0312" or "3.2e-05".
std::string PText(double p);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_SIGNIFICANCE_H_
