// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/proportion.h"

#include <algorithm>
#include <cmath>

namespace vitrine {

Interval WilsonInterval(int64_t successes, int64_t trials) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  if (trials <= 0) return {0, 1};
  const double n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double centre = (share + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  // Without these two cases, rounding could make an end nearly 0 or 1 instead of exactly 0 or 1.
  return {.low = successes == 0 ? 0 : std::max(0.0, centre - half),
          .high = successes == trials ? 1 : std::min(1.0, centre + half)};
}

}  // namespace vitrine
