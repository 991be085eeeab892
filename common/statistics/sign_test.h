// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_SIGN_TEST_H_
#define VITRINE_COMMON_STATISTICS_SIGN_TEST_H_

#include <cstdint>

namespace vitrine {

// Returns the two-sided p of the exact sign test: the probability that fair coins split at least as unevenly as `above`
// to `below`, together at most 10,000. Values that equal the hypothesis belong to neither. Without values, 1.
double SignTest(int64_t above, int64_t below);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_SIGN_TEST_H_
