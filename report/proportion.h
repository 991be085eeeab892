// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_PROPORTION_H_
#define VITRINE_REPORT_PROPORTION_H_

#include <cstdint>

namespace vitrine {

// From `low` to `high`.
struct Interval {
  double low = 0;
  double high = 0;
};

// The score interval of Wilson (1927), equation 4 in Brown, Cai and DasGupta (2001): where the probability lies, with
// 95 % confidence, of which `successes` in `trials` are what was seen. Within 0 and 1; 0 to 1 without a trial.
Interval WilsonInterval(int64_t successes, int64_t trials);

}  // namespace vitrine

#endif  // VITRINE_REPORT_PROPORTION_H_
