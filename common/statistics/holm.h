// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_HOLM_H_
#define VITRINE_COMMON_STATISTICS_HOLM_H_

#include <vector>

namespace vitrine {

// Returns the adjusted p-values of Holm (1979, Scandinavian Journal of Statistics 6, 65-70), in the given order.
// Suppose that every test with an adjusted p below 0.05 is called a difference. Then the probability of one or more
// false differences is at most 5 %, for any dependence between the tests.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_HOLM_H_
