// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_HOLM_H_
#define VITRINE_CLIENT_EVAL_HOLM_H_

#include <vector>

namespace vitrine {

// Where a p-value, corrected if it is one of several, lies below this, a difference is shown.
inline constexpr double kSignificantP = 0.05;

// Adjusted p-values of Holm (1979, Scandinavian Journal of Statistics 6, 65-70), in the order given: where those below
// 0.05 are called differences, the chance that any of them is none is at most 5 %, whatever depends on what.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_HOLM_H_
