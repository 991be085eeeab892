// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_PROPORTION_H_
#define VITRINE_COMMON_STATISTICS_PROPORTION_H_

#include <cstdint>

#include "common/statistics/interval.h"

namespace vitrine {

// Returns the 95 % confidence interval of a probability, given `successes` in `trials` independent trials: the score
// interval of Wilson (1927), equation 4 in Brown, Cai and DasGupta (2001). The interval lies within 0 to 1; without
// trials it is 0 to 1.
Interval WilsonInterval(int64_t successes, int64_t trials);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_PROPORTION_H_
