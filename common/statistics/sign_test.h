// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_SIGN_TEST_H_
#define VITRINE_COMMON_STATISTICS_SIGN_TEST_H_

#include <cstdint>

namespace vitrine {

// Returns the two-sided p of the exact sign test: the probability that `above` + `below` tosses of a fair coin split at
// least as unevenly as `above` to `below`. Requires `above` + `below` <= 10,000. Values equal to the hypothesis are not
// counted. Returns 1 if `above` and `below` are 0.
double SignTest(int64_t above, int64_t below);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_SIGN_TEST_H_
