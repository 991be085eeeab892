// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/holm.h"

#include <algorithm>
#include <cstddef>

namespace vitrine {

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double least = 0;  // largest adjusted p so far: a larger p must not get a smaller adjusted p
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const size_t i = order[rank];
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - rank) * p[i]));
    adjusted[i] = least;
  }
  return adjusted;
}

}  // namespace vitrine
