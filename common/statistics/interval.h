// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_INTERVAL_H_
#define VITRINE_COMMON_STATISTICS_INTERVAL_H_

namespace vitrine {

// Closed interval.
struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_INTERVAL_H_
